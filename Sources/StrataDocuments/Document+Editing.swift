extension Document {
  /// The value at a path, or nil if there is none.
  package subscript(path: DocumentPath) -> Document? {
    var value = self
    for component in path.components {
      switch (value, component) {
      case (.object, .member(let name)):
        guard let member = value[member: name] else { return nil }
        value = member
      case (.array(let elements), .index(let index)) where elements.indices.contains(index): value = elements[index]
      default: return nil
      }
    }
    return value
  }

  /// The document with a value at a path. Missing objects on the way are made; a list is extended by one if the path names the position
  /// after its end. Throws `DocumentError.refused` if the path does not fit.
  package func setting(_ path: DocumentPath, to value: Document) throws(DocumentError) -> Document {
    try Self.replacing(self, at: path.components[...], of: path) { _ in value }
  }

  /// The document without the member or element at a path; unchanged if there is none.
  package func removing(_ path: DocumentPath) throws(DocumentError) -> Document {
    guard self[path] != nil, let last = path.components.last, let parent = path.parent else {
      if path.isRoot { throw .refused(reason: "the whole document cannot be removed from itself") }
      return self
    }
    return try Self.replacing(self, at: parent.components[...], of: parent) { container in
      switch (container, last) {
      case (.object(var members)?, .member(let name)):
        members.removeAll { $0.name == name }
        return .object(members)
      case (.array(var elements)?, .index(let index)):
        elements.remove(at: index)
        return .array(elements)
      default: return container ?? .null
      }
    }
  }

  /// The document with a value inserted: before the element of a list at this position (at the end if it is the count), or as a new member
  /// at the end of an object.
  package func inserting(_ value: Document, at path: DocumentPath) throws(DocumentError) -> Document {
    guard case .index(let index)? = path.components.last, let parent = path.parent else {
      guard self[path] == nil else { throw .refused(reason: "\(path) is there already") }
      return try setting(path, to: value)
    }
    guard case .array(var elements)? = self[parent], 0...elements.count ~= index else {
      throw .refused(reason: "\(path) is not a place in a list")
    }
    elements.insert(value, at: index)
    return try setting(parent, to: .array(elements))
  }

  /// The document with an element of a list, or a member of an object, moved from `path` to its new position.
  package func moving(_ path: DocumentPath, to position: Int) throws(DocumentError) -> Document {
    guard let parent = path.parent, let last = path.components.last, self[path] != nil else {
      throw .refused(reason: "there is no \(path)")
    }
    switch (self[parent], last) {
    case (.array(var elements)?, .index(let index)) where elements.indices.contains(position):
      elements.insert(elements.remove(at: index), at: position)
      return try setting(parent, to: .array(elements))
    case (.object(var members)?, .member(let name)) where members.indices.contains(position):
      guard let index = members.lastIndex(where: { $0.name == name }) else { return self }
      members.insert(members.remove(at: index), at: position)
      return try setting(parent, to: .object(members))
    default: throw .refused(reason: "there is no position \(position) in \(parent)")
    }
  }

  /// A value with a change at a path within it; nil is a value that does not exist yet.
  private static func replacing(
    _ value: Document?, at path: ArraySlice<DocumentPath.Component>, of whole: DocumentPath,
    _ change: (Document?) -> Document
  ) throws(DocumentError) -> Document {
    guard let first = path.first else { return change(value) }
    switch (value, first) {
    case (nil, .member), (.null?, .member): return try replacing(.object([]), at: path, of: whole, change)
    case (nil, .index): return try replacing(.array([]), at: path, of: whole, change)
    case (.object(var members)?, .member(let name)):
      let index = members.lastIndex { $0.name == name }
      let new = try replacing(index.map { members[$0].value }, at: path.dropFirst(), of: whole, change)
      if let index { members[index].value = new } else { members.append(Member(name, new)) }
      return .object(members)
    case (.array(var elements)?, .index(let index)) where 0...elements.count ~= index:
      let new = try replacing(elements[index...].first, at: path.dropFirst(), of: whole, change)
      if index < elements.count { elements[index] = new } else { elements.append(new) }
      return .array(elements)
    case (let value?, _):
      let here = DocumentPath(Array(whole.components.dropLast(path.count)))
      throw .refused(reason: "\(here) is \(value.typeName), so there is no \(whole)")
    }
  }
}
