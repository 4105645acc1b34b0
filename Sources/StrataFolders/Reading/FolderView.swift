package import StrataModel

/// The whole folder as of one iteration.
package struct FolderView: ReadableView {
  package let commit: CommitNumber
  let iteration: IterationFile
  let snapshot: DatedIdentifier?
  let contents: FolderContents

  /// A folder to which nothing was ever written.
  init(empty contents: FolderContents) {
    commit = CommitNumber(0)
    iteration = .empty
    snapshot = nil
    self.contents = contents
  }

  init(_ commit: CommitNumber, at link: FolderHistory.Link, in contents: FolderContents) throws(FolderError) {
    self.commit = commit
    iteration = try contents.iteration(link)
    snapshot = link.snapshot
    self.contents = contents
  }

  package var datastoreKeys: [String] { iteration.datastores.keys.sorted() }

  package func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? { folderDatastore(key) }

  func folderDatastore(_ key: String) -> FolderDatastore? {
    guard iteration.datastores[key] != nil else { return nil }
    return FolderDatastore.open(key, rootFile(of: key), contents: contents)
  }

  /// The file and folder of a datastore's root; nil if it does not exist or was never written.
  func rootFile(of key: String) -> (file: String, folder: String)? {
    guard let snapshot, let reference = iteration.datastores[key], let root = reference.root else { return nil }
    let folder = FolderLayout.datastore(reference.folder, in: snapshot)
    return (FolderLayout.root(root, of: folder), folder)
  }
}
