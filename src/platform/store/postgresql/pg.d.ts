/** What is used of `pg`, which comes without types. */
declare module 'pg' {
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

  class Client {
    constructor(config: ClientConfig)
    readonly connection: { stream: { destroy(): void } }
    connect(): Promise<unknown>
    query(query: { text: string; values: unknown[]; name?: string }): Promise<Result>
    /** A script. */
    query(text: string): Promise<unknown>
    end(): Promise<void>
    on(event: 'error' | 'end', heard: (error: Error) => void): this
  }

  const pg: { Client: typeof Client }
  export default pg
  export { Client, ClientConfig }
}
