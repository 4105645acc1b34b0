#if PostgreSQL && canImport(StrataPostgres)
  import StrataModel
  import StrataDocuments
  package import StrataPostgres
  package import StrataEngine

  extension ServerStore {
    /// Opens the store of a URL for datastores: it knows the record that an entry refers to, and keeps a view of each datastore for people
    /// with `psql`.
    ///
    /// - Parameter creates: Makes its tables if there are none.
    package static func ofDatastores(
      _ url: ServerURL, creates: Bool = false, isReadOnly: Bool = false, options: ServerOptions
    ) throws(StorageError) -> ServerStore {
      try open(
        url, creates: creates, isReadOnly: isReadOnly, options: options, record: { $0.recordOfEntry($1) },
        reporting: { try ReportingView.all(of: $0) })
    }
  }

  extension ReportingView {
    /// The views of all datastores.
    package static func all(of view: ServerView) throws(StorageError) -> [ReportingView] {
      var views: [ReportingView] = []
      for name in try view.trees(prefix: TreeName.records(of: "").bytes) {
        guard let tree = try view.served(name), let descriptor = try? DatastoreDescriptor(bytes: tree.attributes) else {
          continue
        }
        views.append(
          ReportingView(
            name: descriptor.key, tree: tree.number, identifier: Identifier(descriptor.identifierType),
            isJSON: descriptor.coding == .json))
      }
      return views
    }
  }

  extension ReportingView.Identifier {
    /// By the name of a Swift type; integers that are wider than a column are shown as their bytes.
    fileprivate init(_ type: String) {
      switch type {
      case "Int", "Int64", "Int32", "Int16", "Int8", "UInt32", "UInt16", "UInt8": self = .integer
      case "String": self = .string
      case "UUID": self = .uuid
      default: self = .other
      }
    }
  }
#endif
