/** What is used of `pg`, which comes without types. */
declare module 'pg' {
  import type { Socket } from 'node:net'
  import type { ConnectionOptions } from 'node:tls'

  interface ClientConfig {
    host: string
    port: number
    user: string
    password: string
    database: string
    ssl: false | ConnectionOptions
    application_name: string
    keepAlive: boolean
    keepAliveInitialDelayMillis: number
    connectionTimeoutMillis: number
    /** Statements are sent at once, each with a Sync. */
    pipeline: boolean
    types: { getTypeParser(oid: number): (text: string) => unknown }
  }

  interface Result {
    rows: Record<string, unknown>[]
    /** Empty for a statement that returns no rows. */
    fields: { name: string }[]
    rowCount: number | null
    command: string
  }

  /** What a client has with the server. */
  interface Connection {
    readonly stream: Socket
    query(text: string): void
    sendCopyFromChunk(chunk: Buffer): void
    endCopyFrom(): void
    sendCopyFail(why: string): void
  }

  /** A query that answers what comes of it itself; not for a client with `pipeline`. */
  interface Submittable {
    submit(connection: Connection): void
    handleError(error: Error): void
    handleReadyForQuery(): void
    handleCommandComplete(): void
    handleCopyInResponse?(connection: Connection): void
    handleCopyData?(message: { chunk: Buffer }, connection: Connection): void
  }

  class Client {
    constructor(config: ClientConfig)
    readonly connection: Connection
    connect(): Promise<unknown>
    query(query: { text: string; values: unknown[]; name?: string }): Promise<Result>
    /** A script. */
    query(text: string): Promise<unknown>
    query(query: Submittable): Submittable
    end(): Promise<void>
    on(event: 'error' | 'end', heard: (error: Error) => void): this
  }

  const pg: { Client: typeof Client }
  export default pg
  export { Client, ClientConfig, Connection, Submittable }
}
