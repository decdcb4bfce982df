_formats = ["csv", "json"]

# Two switches of the import job: a dry run that is also limited to no rows writes nothing.
options = {"dry_run": False, "limit": 100}


def formats():
    return list(_formats)


def add_format(name):
    if name not in _formats:
        _formats.append(name)


def rows_written(rows):
    if options["dry_run"] and options["limit"] < len(rows):
        return 0
    return len(rows)
