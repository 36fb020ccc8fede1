"""Looking at objects and errors: which are shown, their pictures, and what is drawn over these."""
