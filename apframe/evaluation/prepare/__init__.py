"""The rules that apply before anything is matched."""
