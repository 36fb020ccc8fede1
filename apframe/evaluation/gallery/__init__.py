"""Pictures of objects and errors: selection, picture files, and drawing.

show              show, show_errors: in notebooks
gallery           cards of errors, for these and for the report
  cards           all errors, and the selection of those on a page
  card_slices     the slices of errors
  objects         the annotations and detections of images, each with its source and outcome
  pictures        the locations of image files
"""
