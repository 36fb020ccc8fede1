"""What is evaluated: the rules that apply before anything is matched."""
