import CodableDatastore

// Must not compile: async code would hold its thread.

func count<Format: DatastoreFormat>(_ datastore: Datastore<Format, ReadWrite>) async throws -> Int {
  try datastore.blocking.count
}

func load<Format: DatastoreFormat>(_ datastore: BlockingDatastore<Format, ReadWrite>) async throws -> [Format.Instance]
{
  try datastore.load(...)
}
