import StrataDocuments

/// The fields for the cells of each column: the names as paths (`dims.w` is a member of `dims`), or the names themselves if they are not
/// paths, each once.
enum ColumnNames {
  static func paths(_ names: [String]) -> (paths: [DocumentPath], notes: [String]) {
    var seen: Set<DocumentPath> = []
    var notes: [String] = []
    /// The path, or a member of that name with a number if other columns have taken the path, and the number.
    func unique(_ path: DocumentPath, _ name: String) -> (path: DocumentPath, copy: Int) {
      var (path, copy) = (path, 1)
      while !seen.insert(path).inserted {
        copy += 1
        path = DocumentPath([.member("\(name)_\(copy)")])
      }
      return (path, copy)
    }
    var paths = names.enumerated().map { index, name in
      let name = name.trimmingSpaces.isEmpty ? "column\(index + 1)" : name.trimmingSpaces
      var path = (try? DocumentPath(parsing: name)) ?? DocumentPath([.member(name)])
      if path.isRoot || path.components.contains(where: { if case .index = $0 { true } else { false } }) {
        path = DocumentPath([.member(name)])
      }
      let own = unique(path, name)
      if own.copy > 1 {
        notes.append("there are \(own.copy) columns \(name): the last of them is the member \(own.path.shortText)")
      }
      return own.path
    }
    // A value cannot be an object as well: if `a` is a column, `a.b` is a plain name.
    for (index, path) in paths.enumerated() where path.components.count > 1 {
      let above = (1..<path.components.count).map { DocumentPath(Array(path.components.prefix($0))) }
      guard let column = above.first(where: seen.contains) else { continue }
      let name = names[index].trimmingSpaces
      paths[index] = unique(DocumentPath([.member(name)]), name).path
      notes.append(
        "there are columns \(column.shortText) and \(names[index]): the second is the member \(paths[index].shortText)")
    }
    return (paths, notes)
  }
}
