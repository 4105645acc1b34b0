import FolderStore

/// What a conversion of a folder of the original library came to.
public struct FolderConversion: Hashable, Sendable {
  /// A datastore that was carried over.
  public struct Datastore: Hashable, Sendable {
    /// Its name.
    public var key: DatastoreKey
    /// How many instances it has.
    public var instanceCount: Int
    /// How many indexes it has.
    public var indexCount: Int
  }

  /// An index that is rebuilt at the first warm-up: what the folder holds of it is not what the app's types say, or cannot be
  /// kept
  /// truthfully.
  public struct StaleIndex: Hashable, Sendable {
    /// Its datastore.
    public var datastore: DatastoreKey
    /// Its name.
    public var index: IndexName
    /// Why, as a clause.
    public var reason: String
  }

  /// The datastores, by name.
  public var datastores: [Datastore]
  /// How many commits the store begins with.
  public var commitCount: Int
  /// The indexes that are rebuilt.
  public var staleIndexes: [StaleIndex]
  /// What was left out because it cannot be read or kept, each as a sentence that names its place.
  public var omissions: [String]
  /// What is worth knowing.
  public var notes: [String]
  /// The report in lines, as `strata convert` prints it.
  public var lines: [String]

  init(_ report: ConversionReport) {
    datastores = report.datastores.map {
      Datastore(key: DatastoreKey($0.key), instanceCount: $0.recordCount, indexCount: $0.indexCount)
    }
    commitCount = report.commitCount
    staleIndexes = report.staleIndexes.map {
      StaleIndex(datastore: DatastoreKey($0.datastore), index: IndexName($0.index), reason: $0.reason)
    }
    omissions = report.omissions
    notes = report.notes
    lines = report.lines
  }
}

/// How far a conversion is.
public struct FolderConversionProgress: Hashable, Sendable {
  /// What is being done: `checking index n of things`, `commit 12: import`.
  public var title: String
  /// Commits that are written.
  public var done: Int
  /// Commits in all.
  public var total: Int
  /// Instances and index entries that are written, counted in thousands.
  public var writtenCount: Int

  init(_ progress: FolderConverter.Progress) {
    title = progress.title
    done = progress.done
    total = progress.total
    writtenCount = progress.writtenCount
  }
}

/// Hears how far a conversion is. It is called on the thread that converts, which waits for it.
public typealias FolderConversionHandler = @Sendable (FolderConversionProgress) -> Void
