import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/** `silent`: packets are dropped, and nobody hears of it. */
type Network = 'open' | 'silent' | 'down'
/** Where a connection is cut that carries a commit: before the server gets it, or before its answer comes back. */
export type CommitCut = 'before' | 'after'

interface Pair {
  client: Socket
  server: Socket
}

/** How the protocol ends the message that asks for a commit, and says that it was done. */
const commitAsked = Buffer.from('commit\0')
const commitDone = Buffer.from('COMMIT\0')
const commitRefused = Buffer.from('ROLLBACK\0')

/** The network between one node and the database. */
export class DatabaseProxy {
  /** `store.url` of the node. */
  readonly url: string
  /** The times at which the server said that a commit was done, as of `performance.now()`. */
  readonly commits: number[] = []
  /** The path of the database's socket. */
  target: string
  #network: Network = 'open'
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #cut: { where: CommitCut; done: () => void } | null = null

  private constructor(server: Server, target: string, database: string) {
    this.#server = server
    this.target = target
    this.url = `postgres://sterna@127.0.0.1:${(server.address() as AddressInfo).port}/${database}`
    server.on('connection', (client) => this.#carry(client))
  }

  static async start(target: string, database: string): Promise<DatabaseProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new DatabaseProxy(server, target, database)
  }

  /** From now on nothing comes through, and nobody is told. */
  drop(): void {
    this.#network = 'silent'
  }

  /** All connections end, and no new one is let through. */
  close(): void {
    this.#network = 'down'
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.destroy()
    }
  }

  /** Connections come through again. Those from before end. */
  open(): void {
    this.close()
    this.#network = 'open'
  }

  /** Cuts the next connection that carries a commit. Resolves when that has happened. */
  cutCommit(where: CommitCut): Promise<void> {
    return new Promise((resolve) => (this.#cut = { where, done: resolve }))
  }

  stop(): void {
    this.close()
    this.#server.close()
  }

  #carry(client: Socket): void {
    if (this.#network === 'down') return void client.resetAndDestroy()
    const pair: Pair = { client, server: connect(this.target) }
    this.#pairs.add(pair)
    const end = (): void => {
      if (this.#network === 'silent') return
      this.#pairs.delete(pair)
      client.destroy()
      pair.server.destroy()
    }
    for (const socket of [client, pair.server]) socket.setNoDelay(true).on('error', end).on('close', end)
    client.on('data', (bytes: Buffer) => this.#ask(pair, bytes))
    pair.server.on('data', (bytes: Buffer) => this.#answer(pair, bytes))
  }

  #ask(pair: Pair, bytes: Buffer): void {
    if (this.#network !== 'open') return
    const cut = this.#cut
    if (cut === null || !bytes.includes(commitAsked)) return void pair.server.write(bytes)
    this.#cut = null
    if (cut.where === 'before') return this.#end(pair, cut.done)
    pair.server.removeAllListeners('data').on('data', (answer: Buffer) => {
      if (answer.includes(commitDone) || answer.includes(commitRefused)) this.#end(pair, cut.done)
    })
    pair.server.write(bytes)
  }

  #end({ client, server }: Pair, done: () => void): void {
    client.resetAndDestroy()
    server.destroy()
    done()
  }

  #answer({ client }: Pair, bytes: Buffer): void {
    if (this.#network !== 'open') return
    if (bytes.includes(commitDone)) this.commits.push(performance.now())
    client.write(bytes)
  }
}
