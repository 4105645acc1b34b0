import Atlas
import CodableDatastore
import DatastoreModel
import FolderStore
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Opens whatever lies at a path: one of our stores, or a folder of the original library.
///
/// - Throws: `ModelError` with one sentence: nothing there, no store, a newer format, damage, no permission.
func openStore(_ path: String, readOnly: Bool) throws(ModelError) -> any ReadableStore {
  if OriginalFolder.exists(at: path) { return try FolderStore(at: path) }
  let store = try OwnStore.open(path: path, readOnly: readOnly, program: "strata", author: currentUser())
  guard case .readWrite = store.access, try isAtlas(store.head) else { return store }
  return try atlasStore(at: path) ?? store
}

/// Whether a view has the datastores of the app whose types are compiled into this program.
private func isAtlas(_ view: any ReadableView) throws(ModelError) -> Bool {
  let descriptors = try view.datastores.map(\.descriptor)
  return descriptors.map(\.instanceType) == ["City", "Country"]
    && descriptors.map(\.identifierType) == ["Int", "String"]
}

/// The store with the types of the app `Atlas`, so that edits are checked by them; nil where it is not as the app
/// declares it now.
private func atlasStore(at path: String) throws(ModelError) -> (any ReadableStore)? {
  do {
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: path))
    let browsable = try persistence.browsable(
      with: CityFormat.datastore(in: persistence), CountryFormat.datastore(in: persistence), releasesLock: true)
    return try browsable.warmUp?.plan().isEmpty == true ? browsable.store : nil
  } catch let error as ModelError {
    throw error
  } catch {
    throw .storage("\(error)", kind: .failed)
  }
}
