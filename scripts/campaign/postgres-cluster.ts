import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Row } from '../../src/platform/store/database.ts'
import { endWithProcess } from '../../test/support/end-with-process.ts'
import { endPostgres, giveToOwner, optionsIn, ownersCommand, startPostgres } from '../../test/support/postgres-server.ts'
import { PostgresSession } from '../../test/support/postgres-session.ts'

const run = promisify(execFile)

/** A server of PostgreSQL that can be killed, and replaced by a replica that has every commit. */
export class PostgresCluster {
  /** Where the socket of the one that is written to is. */
  #directory: string
  readonly #directories: string[]
  #session: Promise<PostgresSession> | undefined
  readonly #database: string

  private constructor(directory: string, database: string) {
    this.#directory = directory
    this.#directories = [directory]
    this.#database = database
  }

  static async start(database: string): Promise<PostgresCluster> {
    const server = startPostgres()
    await server.run(`create database ${database}`)
    return new PostgresCluster(dirname(server.socket), database)
  }

  get socket(): string {
    return join(this.#directory, '.s.PGSQL.5432')
  }

  /** `store.url` of a database, without a network in between. */
  urlOf(database: string): string {
    return `postgres://sterna@/${database}?host=${encodeURIComponent(this.#directory)}`
  }

  /** Reads beside all nodes, through nobody's network. Waits where the server is down. */
  async rows<R extends Row>(sql: string, database?: string): Promise<R[]> {
    if (database !== undefined) {
      const session = await PostgresSession.open(this.socket, database)
      return (await session.run(sql).finally(() => session.close())).rows as R[]
    }
    for (let tries = 0; ; tries++) {
      try {
        this.#session ??= PostgresSession.open(this.socket, this.#database)
        return (await (await this.#session).run(sql)).rows as R[]
      } catch (error) {
        this.#session = undefined
        if (tries > 600) throw error
        await pause(50)
      }
    }
  }

  /** Kills its first process, which the others notice, and starts it again. */
  async restart(): Promise<void> {
    this.#kill()
    await this.#start(this.#directory)
  }

  /** Has a replica follow. A commit is answered only when it is there, too. */
  async replicate(): Promise<string> {
    const directory = mkdtempSync(join(tmpdir(), 'sterna-replica-'))
    endWithProcess(() => endPostgres(directory))
    giveToOwner(directory)
    this.#directories.push(directory)
    const words = ['-h', this.#directory, '-U', 'sterna', '-D', join(directory, 'data'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
    await asOwner(directory, 'pg_basebackup', ...words)
    await this.#start(directory)
    await this.rows("alter system set synchronous_standby_names = '*'")
    await this.rows('select pg_reload_conf()')
    const isFollowing = async (): Promise<boolean> =>
      (await this.rows("select 1 as one from pg_stat_replication where sync_state = 'sync'")).length > 0
    while (!(await isFollowing())) await pause(50)
    return directory
  }

  /** Kills the server, and makes its replica the one that is written to. */
  async failOver(replica: string): Promise<void> {
    this.#kill()
    await asOwner(replica, 'pg_ctl', '-D', join(replica, 'data'), '-w', 'promote')
    this.#directory = replica
    this.#session = undefined
  }

  async stop(): Promise<void> {
    await (await this.#session?.catch(() => undefined))?.close()
    for (const directory of this.#directories) endPostgres(directory)
  }

  #kill(): void {
    process.kill(Number(readFileSync(join(this.#directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
  }

  async #start(directory: string): Promise<void> {
    const words = ['-D', join(directory, 'data'), '-l', join(directory, 'log'), '-o', optionsIn(directory), '-w', 'start']
    for (let tries = 0; ; tries++) {
      try {
        return await asOwner(directory, 'pg_ctl', ...words)
      } catch (error) {
        // Processes of the one that was killed may still hold its memory.
        if (tries > 50) throw error
        await pause(100)
      }
    }
  }
}

async function asOwner(directory: string, program: string, ...words: string[]): Promise<void> {
  const [file, all] = ownersCommand(program, words)
  // Output into a pipe would be waited for as long as a server that was started holds it open.
  await run('sh', ['-c', 'exec "$@" >>campaign.log 2>&1', 'sh', file, ...all], { cwd: directory })
}
