import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { snippets } from '../../src/clients/dashboard/welcome/snippets.ts'
import { startClientRelay } from '../support/client-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/** What runs the snippet of a language, and the name of its file. */
const runners: Record<string, { command: string; args?: string[]; file: string }> = {
  curl: { command: 'sh', file: 'send.sh' },
  'Node.js': { command: process.execPath, file: 'send.mjs' },
  Python: { command: '/usr/bin/python3', file: 'send.py' },
  PHP: { command: 'php', file: 'send.php' },
  Ruby: { command: 'ruby', file: 'send.rb' },
  Go: { command: '/usr/lib/go-1.19/bin/go', args: ['run'], file: 'send.go' },
}

test.each(Object.keys(snippets))('the snippet that the dashboard shows for %s sends', async (language) => {
  const relay = await startClientRelay()
  const { command, args = [], file } = runners[language]!
  const path = join(testDirectory(), file)
  // Letters that a language could take for its own syntax.
  const to = "o'neil+$home#{x}@inbox.example"
  writeFileSync(path, snippets[language]!({ baseUrl: relay.baseUrl, token: relay.token, from: 'hello@sender.example', to }))
  const { stdout } = await promisify(execFile)(command, [...args, path], {
    env: { ...process.env, GOCACHE: '/var/cache/sterna-peers/go', CGO_ENABLED: '0' },
  })
  expect(stdout).toMatch(/em_\w+/)
  expect(await relay.received(to)).toMatchObject({ subject: 'Hello from Sterna', text: 'It works.\n' })
})
