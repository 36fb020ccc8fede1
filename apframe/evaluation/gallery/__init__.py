"""Look at objects and errors: which are shown, their pictures, and what is drawn over these.

show              show, show_errors: in notebooks
gallery           cards of errors, for these and for the report
  cards           which errors there are, and which of them are shown
  card_slices     the slices that errors are in
  objects         the annotations and detections of images, each with who drew it and what became of it
  pictures        where the files of images are
"""
