import DatastoreModel
import FolderStore

/// Opens whatever lies at a path: one of our stores, or a folder of the original library.
///
/// - Throws: `ModelError` with one sentence: nothing there, no store, a newer format, damage, no permission.
func openStore(_ path: String, readOnly: Bool) throws(ModelError) -> any ReadableStore {
  if OriginalFolder.exists(at: path) { return try FolderStore(at: path) }
  return try OwnStore.open(path: path, readOnly: readOnly, program: "strata", author: currentUser())
}
