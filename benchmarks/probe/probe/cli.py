import argparse
import shutil


def parser():
    made = argparse.ArgumentParser(prog="probe", description="Send the day's report.")
    made.add_argument("--recipient", metavar="ADDRESS")
    made.add_argument("--subject", metavar="TEXT")
    return made


def rule():
    return "-" * shutil.get_terminal_size().columns
