import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandsIn } from '../support/run-commands.ts'
import { testDirectory } from '../support/temporary-directory.ts'

test('what cannot be is refused before anything changes, each with its line', async () => {
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  const run = commandsIn(directory, join(directory, 'data'))
  const faulty = `
accounts:
  - name: shop
    plan: gold
    templates:
      - {alias: broken, html: "{{#open}}"}
      - {alias: orphan, html: x, layout: nowhere}
    webhooks:
      - {url: "ftp://x.example/"}
    keys:
      - {name: web, domain: other.example}
      - {name: late, expires_at: 2001-01-01}
`
  writeFileSync(join(directory, 'faulty.yaml'), faulty)
  const { exitCode, stderr } = await run('apply faulty.yaml --yes')
  expect(exitCode).toBe(1)
  expect(stderr.match(/faulty\.yaml:\d+/g)).toEqual([4, 6, 7, 9, 11, 12].map((line) => `faulty.yaml:${line}`))
  expect((await run('account list')).stdout).not.toContain('shop')
  expect(await run('apply nowhere.yaml --yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('nowhere.yaml cannot be read'),
  })
})

test('names that every object has, pipes, devices and wrong files are read as what they are', async () => {
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  const run = commandsIn(directory, join(directory, 'data'))
  const refused = async (file: string, text: string, message: RegExp) => {
    writeFileSync(join(directory, file), text)
    expect(await run(`apply ${file} --yes`)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) })
  }
  await refused('names.yaml', 'accounts:\n  - {name: a, toString: 1, __proto__: 2}', /:2: .* has no toString.*\n.*:2: .* has no __proto__/)
  const webhook = (secret: string) => `accounts:\n  - {name: a, webhooks: [{url: "https://a.example/", secret: ${secret}}]}`
  await refused('variable.yaml', webhook('{env: __proto__}'), /:2: secret: the variable __proto__ is not set/)
  await refused('device.yaml', webhook('{file: /dev/zero}'), /:2: secret: \/dev\/zero is larger than/)
  const lines = Array.from({ length: 30_000 }, (_, i) => `    wrong${i}: 1\n`)
  await refused('wrong.yaml', `accounts:\n  - name: a\n${lines.join('')}`, /^sterna: The file has at least 100 errors(?:.*\n){101}$/)
  expect(await run('apply /dev/zero --yes')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('larger than') })
})
