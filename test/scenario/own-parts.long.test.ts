import { readFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { useParts } from '../support/use-parts.ts'

test('a server finds its files, and the modules of its threads and child processes', () => useParts(testDirectory(), sternaCommand))

test('SQLite leaves no file behind', async () => {
  const directory = testDirectory()
  const server = await spawnServer(directory)
  await untilReady(server)
  expect(readdirSync(directory).filter((name) => name.startsWith('.'))).toEqual([])
  expect(readFileSync(`/proc/${server.child.pid}/maps`, 'utf8')).toMatch(
    process.env['TEST_STERNA_COMMAND'] ? /sterna-.* \(deleted\)/ : /better-sqlite3/,
  )
})
