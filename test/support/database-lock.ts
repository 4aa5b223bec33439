import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const script = `
  const Sqlite = require(${JSON.stringify(fileURLToPath(new URL('../../node_modules/better-sqlite3', import.meta.url)))})
  const db = new Sqlite(process.argv[1])
  process.stdin.on('data', (line) => {
    db.exec(String(line))
    process.stdout.write('done')
  })
`

/** What the holder of a lock can do. */
export interface DatabaseLock {
  take(): Promise<void>
  letGo(): Promise<void>
}

/** Another process that locks a database against writers, as a shell does in which somebody has begun a transaction. */
export async function databaseLock(file: string): Promise<DatabaseLock> {
  const child = spawn(process.execPath, ['-e', script, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  const run = async (sql: string): Promise<void> => {
    child.stdin.write(sql)
    await once(child.stdout, 'data')
  }
  // It is there when it is needed.
  await run('select 1')
  return { take: () => run('begin immediate'), letGo: () => run('commit') }
}
