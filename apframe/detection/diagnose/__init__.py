"""Why a number is what it is: score thresholds, counts for each image."""
