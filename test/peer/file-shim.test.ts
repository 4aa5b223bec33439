import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Disk } from '../../scripts/campaign/disk.ts'
import { compileFileShim, FileShim } from '../../scripts/campaign/file-shim.ts'
import { seededRandom } from '../../scripts/campaign/seeded-random.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/** A directory that is recorded, with what a process under the shim does there: it runs a script, which knows `fs` and `root`. */
function shimmed(): { root: string; shim: FileShim; run(script: string): string } {
  const directory = realpathSync(testDirectory())
  const root = join(directory, 'root')
  mkdirSync(root)
  const shim = new FileShim(compileFileShim(directory), directory, root)
  const run = (script: string): string => {
    const words = ['-e', `const fs = require('fs'), root = ${JSON.stringify(root)}; ${script}`]
    const { stdout, stderr } = spawnSync(process.execPath, words, {
      env: { ...process.env, ...shim.environment },
      encoding: 'utf8',
      cwd: root,
    })
    return stdout + stderr
  }
  return { root, shim, run }
}

const filesIn = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [join(parentPath, name).slice(directory.length), readFileSync(join(parentPath, name), 'latin1')]),
  )

test('whatever Node and SQLite do to files is recorded: rebuilt from the record they are the same', () => {
  const { root, shim, run } = shimmed()
  const before = join(testDirectory(), 'before')
  mkdirSync(before)
  const sqlite = new URL('../../node_modules/better-sqlite3', import.meta.url).pathname
  const said = run(`
    fs.writeFileSync('written', 'x'.repeat(100000)); fs.appendFileSync(root + '/written', 'more'); fs.truncateSync('written', 70000)
    const file = fs.openSync('./vector', 'w'); fs.writevSync(file, [Buffer.from('one'), Buffer.from('two')]); fs.writevSync(file, [Buffer.from('T')], 3); fs.closeSync(file)
    fs.copyFileSync('written', 'copied'); fs.renameSync('written', 'renamed'); fs.linkSync('renamed', 'linked'); fs.mkdirSync('a/b', { recursive: true })
    fs.writeFileSync('a/b/deep', 'deep'); fs.cpSync('a', 'c', { recursive: true }); fs.rmSync('a', { recursive: true }); fs.renameSync('c', 'd')
    fs.writeFileSync(fs.mkdtempSync(root + '/temporary-') + '/in', 'in'); fs.writeFileSync('gone', 'gone'); fs.unlinkSync('gone')
    const database = new (require(${JSON.stringify(sqlite)}))('a.db'); database.pragma('journal_mode = wal'); database.pragma('synchronous = full')
    database.exec('create table t (x)'); for (let i = 0; i < 50; i++) database.prepare('insert into t values (?)').run('y'.repeat(3000))
    database.backup('copy.db').then(() => {
      database.close()
      const flush = (path) => { const file = fs.openSync(path, 'r'); fs.fsyncSync(file); fs.closeSync(file) }
      for (const entry of fs.readdirSync('.', { recursive: true })) flush(entry)
      flush('.')
    })`)
  expect(said).toBe('')
  const disk = new Disk({ root, before })
  for (const record of shim.records()) disk.apply(record)
  const rebuilt = join(testDirectory(), 'rebuilt')
  disk.writeAfterPowerCut(rebuilt, seededRandom(1))
  expect(Object.keys(filesIn(root)).length).toBe(8)
  expect(filesIn(rebuilt)).toEqual(filesIn(root))
  shim.close()
})

test('chosen calls fail, after so many and so many times', () => {
  const { shim, run } = shimmed()
  shim.fail({ error: 'EIO', calls: ['flush'], path: '/b', skip: 1, times: 1 })
  const said = run(`
    for (const name of ['a', 'b']) for (let i = 0; i < 3; i++) {
      const file = fs.openSync(name, 'a')
      try { fs.fsyncSync(file); console.log(name, 'flushed') } catch (error) { console.log(name, error.code) }
      fs.closeSync(file)
    }`)
  expect(said).toBe('a flushed\na flushed\na flushed\nb flushed\nb EIO\nb flushed\n')
  expect(shim.failed).toBe(1)
  shim.fail({ error: 'EROFS', calls: ['open', 'write', 'mkdir'], path: '/' })
  expect(run(`try { fs.mkdirSync('new') } catch (error) { console.log(error.code) }`)).toBe('EROFS\n')
  shim.fail(null)
  expect(run(`fs.mkdirSync('new')`)).toBe('')
  shim.close()
})

test('the wall clock is moved, and no other', () => {
  const { shim, run } = shimmed()
  shim.moveClock(-3_600_000)
  const now = Date.now()
  const [wall, sinceStart] = run('console.log(Date.now()); console.log(performance.now())').split('\n').map(Number)
  expect(Math.round(((wall ?? 0) - now) / 60_000)).toBe(-60)
  expect(sinceStart).toBeLessThan(60_000)
  shim.close()
})
