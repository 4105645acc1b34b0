/// The layout of a folder, as paths within it.
///
/// ```
/// Info.json
/// Snapshots/2026/11-20/13-53/ID.snapshot/
///   Manifest.json
///   Iterations/2026/11-20/13-53/ID.json
///   Datastores/NAME.datastore/
///     Root/ID.json
///     DirectIndexes/Primary.datastoreindex/
///       Manifest/ID.indexmanifest
///       Pages/2026/11-20/13-53/ID.datastorepage
///     DirectIndexes/NAME.datastoreindex/…
///     SecondaryIndexes/NAME.datastoreindex/…
/// ```
package enum FolderLayout {
  package static func snapshot(_ snapshot: DatedIdentifier) -> String {
    "Snapshots/\(snapshot.shard)/\(snapshot).snapshot"
  }

  package static func manifest(of snapshot: DatedIdentifier) -> String {
    "\(self.snapshot(snapshot))/\(SnapshotManifest.name)"
  }

  package static func iterations(of snapshot: DatedIdentifier) -> String { "\(self.snapshot(snapshot))/Iterations" }

  package static func iteration(_ iteration: DatedIdentifier, in snapshot: DatedIdentifier) -> String {
    "\(iterations(of: snapshot))/\(iteration.shard)/\(iteration).json"
  }

  package static func datastore(_ folder: FolderName, in snapshot: DatedIdentifier) -> String {
    "\(self.snapshot(snapshot))/Datastores/\(folder).datastore"
  }

  package static func root(_ root: FolderName, of datastore: String) -> String { "\(datastore)/Root/\(root).json" }

  package static func primaryIndex(of datastore: String) -> String {
    "\(datastore)/DirectIndexes/Primary.datastoreindex"
  }

  package static func index(_ folder: FolderName, layout: Entry.Layout, of datastore: String) -> String {
    "\(datastore)/\(layout == .direct ? "DirectIndexes" : "SecondaryIndexes")/\(folder).datastoreindex"
  }

  package static func indexManifest(_ manifest: FolderName, of index: String) -> String {
    "\(index)/Manifest/\(manifest).indexmanifest"
  }

  package static func page(_ page: DatedIdentifier, of index: String) -> String {
    "\(index)/Pages/\(page.shard)/\(page).datastorepage"
  }
}
