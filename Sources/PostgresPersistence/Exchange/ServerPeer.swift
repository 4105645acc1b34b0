#if PostgreSQL && canImport(StrataPostgres)
  import StrataModel
  package import StrataExchange
  package import StrataPostgres
  package import StrataEngine

  /// A store on a database server as another copy of a store file.
  ///
  /// It reports its heads and sends its commits as every store does. Pushed commits are written as one transaction of the server, which
  /// moves its head or does nothing.
  package final class ServerPeer: Peer {
    package let name: String
    private let engine: ServerStore
    private let store: EngineStore
    private let exchange: StoreExchange
    private let peer: StorePeer
    /// The head that was reported last: a push is based on it.
    private var told: CommitIdentity?

    /// Opens the store of a URL, which must exist.
    package init(_ url: ServerURL, name: String, client: ServerRemotes.Client) throws(StorageError) {
      self.name = name
      engine = try ServerStore.ofDatastores(
        url, options: ServerOptions(program: client.program, author: client.author, notice: client.notice))
      store = EngineStore(
        engine, path: engine.path, access: engine.readOnlyReason.map { .readOnly(reason: $0) } ?? .readWrite,
        program: client.program)
      exchange = StoreExchange(store, now: client.now)
      peer = StorePeer(store, name: name, now: client.now)
    }

    /// The number of round trips to the server.
    package var roundTrips: Int { engine.roundTrips }

    package func heads() throws -> [CommitIdentity] {
      let heads = try peer.heads()
      told = heads.first
      return heads
    }

    package func prepare() { peer.prepare() }

    package func pins() throws -> [PeerPin] { try peer.pins() }

    package func fetch(
      haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
    ) throws {
      try peer.fetch(haves: haves, wants: wants, of: tips, take: take)
    }

    package func haves() throws -> [Have] { try peer.haves() }

    package func push(_ commits: OutgoingCommits) throws -> Bool {
      do {
        if case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
        let there = try exchange.graph()
        let (graph, source) = (commits.graph, commits.store.engine)
        guard let head = Self.place(of: commits.head, in: graph) else {
          throw ModelError.noSuchCommit(commits.head.text)
        }
        let from = told.flatMap { Self.place(of: $0, in: graph) }
        // The changes of the first missing commit are its difference to that head's state.
        guard told == nil || from != nil else { return false }
        let missing = graph.parentsFirst(commits.numbers).compactMap { number -> HistoryUpload.Commit? in
          guard let identity = graph.identity(of: number), let node = graph[identity],
            there.number(of: identity) == nil
          else { return nil }
          return (
            (number, identity),
            Pedigree(parents: node.parents, undoes: node.undoes, squashed: graph.leftOut(before: identity))
          )
        }
        let isMoved = try HistoryUpload.append(
          missing, of: source, from: from, to: head, identity: { graph.identity(of: $0) },
          known: { there.number(of: $0) }, on: engine, progress: { commits.progress?($0, $1) ?? true })
        guard isMoved else { return false }
        told = commits.head
        engine.keepReporting()
        return true
      } catch let error as StorageError {
        throw ModelError(error)
      }
    }

    private static func place(of identity: CommitIdentity, in graph: CommitGraph) -> HistoryUpload.Place? {
      graph.number(of: identity).map { ($0, identity) }
    }
  }

  extension ServerRemotes {
    /// Remotes on PostgreSQL servers, through libpq.
    package static let postgres = ServerRemotes(
      check: { text throws(ExchangeError) in
        do throws(InvalidServerURL) {
          _ = try ServerURL(parsing: text)
        } catch {
          throw .invalidRemote("postgres://…", reason: error.description)
        }
      },
      open: { text, name, client in
        do {
          return try ServerPeer(ServerURL(parsing: text), name: name, client: client)
        } catch let error as InvalidServerURL {
          throw ExchangeError.invalidRemote("postgres://…", reason: error.description)
        } catch let error as StorageError {
          throw ModelError(error)
        }
      })
  }
#endif
