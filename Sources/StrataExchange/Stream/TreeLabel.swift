import StrataModel
import StrataDocuments
import StrataEngine

/// The name of a tree in the lines of a stream.
enum TreeLabel: Hashable {
  case records(String)
  case index(String, of: String)
  case leftOut(String)
  /// A tree whose name means nothing to this program.
  case other([UInt8])

  init(_ name: TreeName) {
    if let key = name.datastoreKey, TreeName.records(of: key) == name {
      self = .records(key)
    } else if let (datastore, index) = name.indexName, TreeName.index(index, of: datastore) == name {
      self = .index(index, of: datastore)
    } else if let key = name.leftOutKey, TreeName.leftOut(of: key) == name {
      self = .leftOut(key)
    } else {
      self = .other(name.bytes)
    }
  }

  var name: TreeName {
    switch self {
    case .records(let key): .records(of: key)
    case .index(let index, let key): .index(index, of: key)
    case .leftOut(let key): .leftOut(of: key)
    case .other(let bytes): TreeName(bytes)
    }
  }

  /// The members that name it: `"datastore":"City"`, `"index":"name","of":"City"`, `"leftOut":"City"`, `"tree":"base64"`.
  var members: [Document.Member] {
    switch self {
    case .records(let key): [.init("datastore", .string(key))]
    case .index(let index, let key): [.init("index", .string(index)), .init("of", .string(key))]
    case .leftOut(let key): [.init("leftOut", .string(key))]
    case .other(let bytes): [.init("tree", .string(Base64.text(of: bytes)))]
    }
  }

  init?(_ line: StreamLine) {
    if let key = line.text("datastore") {
      self = .records(key)
    } else if let index = line.text("index"), let key = line.text("of") {
      self = .index(index, of: key)
    } else if let key = line.text("leftOut") {
      self = .leftOut(key)
    } else if let text = line.text("tree"), let bytes = Base64.bytes(of: text), !bytes.isEmpty {
      // Another tree may have the name of one of the above, and is checked as that.
      self = TreeLabel(TreeName(bytes))
    } else {
      return nil
    }
  }
}
