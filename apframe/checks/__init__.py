"""What is wrong or suspicious in data sets and results, before it spoils a number; one file for each family of findings."""
