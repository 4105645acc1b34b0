/// Changes the tree of names.
///
/// Texts that are equal are one name, though their bytes may differ ("é" is one letter, or two): with a name the other spellings of
/// it go, which no text could ask for.
struct NamesEditor {
  private let stored: TreeRoot
  private let file: DataFile
  private var editor: TreeEditor

  /// `pointer`: the names before the commit, in `file`.
  init(_ pointer: NodePointer, in file: DataFile) {
    stored = TreeRoot(pointer: pointer)
    self.file = file
    editor = TreeEditor(root: stored, order: .bytes, isReferences: false)
  }

  /// Gives a name to a commit, or takes it away. Reads all names.
  mutating func set(_ name: String, to commit: NamedCommit?) throws(StorageError) {
    let key = Array(name.utf8)
    for known in try CatalogScan(file: file).names(in: stored, prefix: [])
    where known.bytes != key && String(decoding: known.bytes, as: UTF8.self) == name {
      try change(known.bytes, to: nil)
    }
    try change(key, to: commit?.payload)
  }

  /// Writes the nodes that are new; the new root.
  func write(_ writer: inout NodeWriter) throws(StorageError) -> NodePointer { try writer.write(editor.root) }

  private mutating func change(_ key: [UInt8], to payload: Payload?) throws(StorageError) {
    let result = key.withUnsafeBytes { key in
      Result { () throws(StorageError) in
        if let payload {
          _ = try editor.set(key, at: .bytes(key), in: file) { _ throws(StorageError) in payload }
        } else {
          _ = try editor.remove(at: .bytes(key), in: file)
        }
      }
    }
    try result.get()
  }
}
