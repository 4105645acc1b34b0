import StrataModel
import StrataExchange
import StrataExpressions
import StrataSystem

/// Finds the known copies of the store, and how many commits each side lacks.
struct RemotesRequest: Question, Hashable {
  var head: CommitNumber
  /// Distinguishes requests with the same head.
  var revision: Int

  func reply(in context: WorkContext) throws(ModelError) -> RemotesReply {
    try context.exchanging { exchange in
      let rows = try exchange.remotes().map { state in
        try context.goOn()
        var row = RemoteRow(state: state)
        row.head = try row.firstHeadBehind.map { try context.store.commit($0.commit) }
        return row
      }
      return RemotesReply(rows: rows, isServed: !exchange.keepsRemotes)
    }
  }
}

struct RemotesReply: Sendable {
  var rows: [RemoteRow]
  /// Whether the store is on a server, and keeps no remotes.
  var isServed = false
}

/// Another copy of the store, as the pane shows it.
struct RemoteRow: Sendable, Hashable {
  var state: RemoteState
  /// The head of `standing`.
  var head: CommitDetails?

  var name: String { state.remote.name }
  var location: String { state.remote.location }
  var exchangedAt: Int64? { state.remote.exchangedAt }
  /// The first head with new commits, otherwise the first; nil if nothing was fetched yet.
  var firstHeadBehind: RemoteState.Head? { state.heads.first { $0.behind > 0 } ?? state.heads.first }

  /// A sentence about which commits each side lacks.
  var words: String {
    guard let firstHeadBehind else { return "nothing was fetched yet: gf fetches, X exchanges" }
    let (ahead, behind) = (firstHeadBehind.ahead, firstHeadBehind.behind)
    switch (ahead, behind) {
    case (0, 0): return "both have the same commits"
    case (_, 0): return "it lacks \(NumberFormat.counted(ahead, "commit")): gs sends"
    case (0, _): return "we lack \(NumberFormat.counted(behind, "commit")): w takes them over"
    default:
      return
        "both went on: \(NumberFormat.counted(ahead, "commit")) here, \(NumberFormat.count(behind)) there: w merges"
    }
  }
}

/// Fetches from another copy, sends to it, or both with a merge in between.
struct TransferRequest: Question, Hashable {
  /// Its raw value says what goes on.
  enum Kind: String, Sendable, Hashable {
    case fetch = "fetching"
    case send = "sending"
    case exchange = "exchanging"
  }

  var kind: Kind
  var remote: String

  var title: String {
    switch kind {
    case .fetch: "fetch from \(remote)"
    case .send: "send to \(remote)"
    case .exchange: "exchange with \(remote)"
    }
  }

  func reply(in context: WorkContext) throws(ModelError) -> TransferReply {
    try context.exchanging { exchange in
      var reply = TransferReply(request: self)
      if kind == .exchange {
        try exchange.untilPushed { try transfer(exchange, context, &reply) }
      } else {
        try transfer(exchange, context, &reply)
      }
      return reply
    }
  }

  private func transfer(_ exchange: StoreExchange, _ context: WorkContext, _ reply: inout TransferReply) throws {
    // A move of another copy's head is not a user's edit, so it has no author.
    let peer = try RemotePeers(program: "strata", author: "", now: LocalTime.now, mayAsk: false)
      .open(RemotesFile(storeAt: exchange.store.path).remote(remote), of: exchange.store)
    let fetched = kind == .send ? nil : try exchange.fetch(peer, as: remote, progress: context.goingOn)
    reply.fetched += fetched?.received ?? 0
    try context.goOn()
    guard kind != .fetch else { return }
    for head in fetched?.heads ?? [] {
      try context.goOn()
      let merged = try exchange.merge(head, policy: .ask, named: "Merge \(remote)")
      let plan = merged.plan
      if let head = merged.head { reply.move = HeadMove(from: reply.move?.from ?? plan.first, to: head) }
      guard plan.open.isEmpty else {
        (reply.unsettled, reply.unsettledCount) = (plan.second, plan.open.count)
        return
      }
      reply.merged += plan.kind == .nothing ? 0 : plan.cleanCount
    }
    reply.sent = try exchange.push(peer, as: remote, progress: context.goingOn)
  }
}

struct TransferReply: WordedReply {
  var request: TransferRequest
  var fetched = 0
  var merged = 0
  /// The move of the head by the merges.
  var move: HeadMove?
  var sent = 0
  /// A head whose merge the user must settle first.
  var unsettled: CommitNumber?
  var unsettledCount = 0

  var sentence: String {
    func commits(_ count: Int) -> String { NumberFormat.counted(count, "commit") }
    switch request.kind {
    case .fetch:
      return fetched == 0 ? "\(request.remote): nothing new" : "\(request.remote): \(commits(fetched)) fetched"
    case .send: return "\(request.remote): \(commits(sent)) sent"
    case .exchange:
      if unsettled != nil { return "\(request.remote): \(commits(fetched)) fetched, nothing merged" }
      let changes = merged > 0 ? ", \(NumberFormat.counted(merged, "change")) merged" : ""
      return "\(request.remote): \(commits(fetched)) fetched\(changes), \(commits(sent)) sent"
    }
  }
}

extension WorkContext {
  /// The store as one that exchanges with its other copies.
  func exchange() throws(ModelError) -> StoreExchange {
    guard let store = store as? EngineStore else {
      throw .refused(reason: "only a store of its own has other copies; strata convert makes one of a folder")
    }
    return StoreExchange(store, now: LocalTime.now)
  }

  /// Runs a closure with that store.
  func exchanging<Reply>(_ body: (StoreExchange) throws -> Reply) throws(ModelError) -> Reply {
    let exchange = try exchange()
    return try onExchange { try body(exchange) }
  }
}
