"""The canonical tables as declarations, and any frame as one of them; the ids of a data set; the data set itself."""
