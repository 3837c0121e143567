"""What every part may use: errors, checks of arguments, whole files, progress."""
