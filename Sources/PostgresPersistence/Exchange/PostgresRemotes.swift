#if PostgreSQL && canImport(StrataPostgres)
  import StrataExchange

  /// Stores on database servers as remotes of store files.
  ///
  /// ```swift
  /// PostgresRemotes.enable()
  /// try await persistence.addRemote(RemoteStore(name: "team", location: "postgres://app@db.example/app?schema=library"))
  /// try await persistence.exchange(with: "team")
  /// ```
  ///
  /// A remote's location is stored beside the store and shown, so it has no password: that comes from `PGPASSWORD`, the password file
  /// `~/.pgpass` or a service file.
  public enum PostgresRemotes {
    /// Lets every store of this process exchange with stores on servers. Safe from any thread, and may be called again.
    public static func enable() { ServerRemotes.install(.postgres) }
  }
#endif
