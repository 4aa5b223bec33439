import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { newToken } from '../../src/senders/account/api-key-token.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { testDirectory } from '../support/temporary-directory.ts'

// Each command is a process of its own: one second alone, several on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const [program, ...start] = sternaCommand

interface Ran {
  stdout: string
  stderr: string
  exitCode: number
}

/** Runs commands in `cwd` on the data in `dataDir`, each in a process of its own. */
const commandsIn =
  (cwd: string, dataDir: string) =>
  (line: string, env: Record<string, string> = {}) =>
    new Promise<Ran>((done) => {
      const all = { STERNA_DATA_DIR: dataDir, STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1', ...env }
      const child = execFile(program, [...start, ...line.split(' ')], { cwd, env: all }, (_error, stdout, stderr) =>
        done({ stdout, stderr, exitCode: child.exitCode ?? -1 }),
      )
    })

const [key, operatorKey] = [newToken(false), newToken(false)]
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const setUp = `
accounts:
  - name: shop
    plan: starter
    suppression_policy: {soft_bounces: 5, expiry: 90d}
    quota: {day: 500, month: unlimited}
    domains:
      - {name: shop.example, click_tracking: true, dkim_selector: s1, dkim_private_key: {file: dkim.pem}, quota: {day: 200}}
    templates:
      - {alias: welcome, subject: Hello, html: {file: welcome.html}, layout: frame}
      - {alias: frame, html: "<b>{{{@content}}}</b>"}
    webhooks:
      - {url: "https://app.shop.example/hooks", events: [email.bounced], secret: {env: HOOK_SECRET}}
    keys:
      - {name: web, domain: shop.example, token: {env: WEB_KEY}}
      - {name: operator, permission: operator, token: {file: operator.key}}
`
const variables = { WEB_KEY: key, HOOK_SECRET: secret }

/** A directory with the file and what it refers to. */
function directoryWithSetUp(): string {
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  writeFileSync(join(directory, 'dkim.pem'), privateKey)
  writeFileSync(join(directory, 'welcome.html'), '<p>Hello</p>\n')
  writeFileSync(join(directory, 'operator.key'), `${operatorKey}\n`)
  writeFileSync(join(directory, 'setup.yaml'), setUp)
  return directory
}

test('a file makes the set-up of a running server, once, and moves to another one', async () => {
  const directory = directoryWithSetUp()
  const server = await spawnServer(join(directory, 'data'))
  await untilReady(server)
  const run = commandsIn(directory, join(directory, 'data'))
  const call = async (path: string, token: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { headers: { authorization: `Bearer ${token}` } })
    return { status: answer.status, body: (await answer.json()) as any }
  }

  expect(await run('apply setup.yaml --yes')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('WEB_KEY is not set') })
  const plan = await run('apply setup.yaml --dry-run', variables)
  expect(plan).toMatchObject({ exitCode: 3, stderr: '7 changes to make.\n' })
  expect(await call('/api/webhooks', operatorKey)).toMatchObject({ status: 401 })
  const applied = await run('apply setup.yaml --yes', variables)
  expect(applied).toMatchObject({ exitCode: 0, stdout: plan.stdout })
  for (const text of [key, operatorKey, secret]) expect(applied.stdout + applied.stderr).not.toContain(text)
  // The server made the account default at its first start.
  expect((await run('apply setup.yaml --dry-run --prune', variables)).stdout).toMatch(/^remove {2}account default, [^\n]+\n$/)
  for (const more of ['--dry-run', '--yes', '--yes --prune', '--dry-run --prune'])
    expect(await run(`apply setup.yaml ${more}`, variables)).toMatchObject({
      exitCode: 0,
      stdout: more === '--yes --prune' ? expect.stringContaining('remove') : 'Nothing to change.\n',
    })

  expect((await call('/api/account/quota', operatorKey)).body).toMatchObject({ day: { limit: 500 }, month: { limit: null } })
  const { body: webhooks } = await call('/api/webhooks', operatorKey)
  expect(webhooks.data).toMatchObject([{ url: 'https://app.shop.example/hooks', events: ['email.bounced'] }])
  expect((await call(`/api/webhooks/${webhooks.data[0].id}`, operatorKey)).body.signing_secret).toBe(secret)
  expect((await call('/api/templates/welcome', operatorKey)).body).toMatchObject({ status: 'published', html: '<p>Hello</p>\n' })
  expect((await call('/api/api-keys', operatorKey)).body.data).toContainEqual(
    expect.objectContaining({ name: 'web', permission: 'sending_access' }),
  )
  // The key limited to a domain may not read.
  expect(await call('/api/webhooks', key)).toMatchObject({ status: 403 })
  const { body: audit } = await call('/api/audit?action=apply%20create', operatorKey)
  expect(audit.data).toHaveLength(7)
  expect(audit.data).toContainEqual(expect.objectContaining({ object_id: webhooks.data[0].id, fields: ['url', 'events', 'secret'] }))

  // The set-up moves into an empty directory, without a server.
  const exported = await run('config export exported.yaml --secrets secrets')
  expect(exported).toMatchObject({ exitCode: 0, stderr: '' })
  const yaml = readFileSync(join(directory, 'exported.yaml'), 'utf8')
  expect([yaml.includes(secret), yaml.includes('PRIVATE KEY'), yaml.includes(key)]).toEqual([false, false, false])
  for (const name of readdirSync(join(directory, 'secrets'))) expect(statSync(join(directory, 'secrets', name)).mode & 0o777).toBe(0o600)
  expect(await run('apply exported.yaml --dry-run --prune')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })
  const elsewhere = commandsIn(directory, join(directory, 'other'))
  expect(await elsewhere('apply exported.yaml --yes')).toMatchObject({ exitCode: 0 })
  expect(await elsewhere('apply exported.yaml --dry-run --prune')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })
  const again = await elsewhere('config export again.yaml --secrets again')
  expect(again.exitCode).toBe(0)
  expect(
    readFileSync(join(directory, 'again.yaml'), 'utf8')
      .replaceAll('file: again/', 'file: secrets/')
      .replace(/wh_\w{26}/g, 'wh'),
  ).toBe(yaml.replace(/wh_\w{26}/g, 'wh'))
})

test('an apply that fails half-way says what stands, and goes on the next time', async () => {
  const directory = directoryWithSetUp()
  const run = commandsIn(directory, join(directory, 'data'))
  expect(await run('apply setup.yaml --yes', variables)).toMatchObject({ exitCode: 0 })
  expect(await run('domain verify shop.example --manual')).toMatchObject({ exitCode: 0 })
  expect(await run('domain rotate shop.example')).toMatchObject({ exitCode: 0 })
  const changed = `
accounts:
  - name: shop
    plan: free
    domains: [{name: shop.example, dkim_selector: s9}]
    keys: [{name: second}]
`
  writeFileSync(join(directory, 'changed.yaml'), changed)
  const failed = await run('apply changed.yaml --yes')
  expect(failed).toMatchObject({ exitCode: 1, stdout: 'change  account shop: plan starter → free\n' })
  expect(failed.stderr).toContain('New DKIM keys are still pending')
  expect(failed.stderr).toMatch(
    /The changes above stand\. Not done,.*\n {2}change {2}domain shop\.example .*\n {2}create {2}key second of shop\n/,
  )
  expect(await run('domain verify shop.example --manual')).toMatchObject({ exitCode: 0 })
  const finished = await run('apply changed.yaml --yes')
  expect(finished).toMatchObject({ exitCode: 0 })
  expect(finished.stdout).toMatch(/^change {2}domain shop\.example .*\ncreate {2}key second of shop\n {8}sterna_live_\w{49}\n$/)
  expect(await run('apply changed.yaml --dry-run')).toMatchObject({ exitCode: 0 })
})

test('what cannot be is refused before anything changes, each with its line', async () => {
  const directory = directoryWithSetUp()
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
  const directory = directoryWithSetUp()
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

test('exported secrets are for their owner alone, whatever was there before', async () => {
  const directory = directoryWithSetUp()
  const run = commandsIn(directory, join(directory, 'data'))
  expect(await run('apply setup.yaml --yes', variables)).toMatchObject({ exitCode: 0 })
  expect(await run('config export first.yaml --secrets secrets')).toMatchObject({ exitCode: 0 })
  const paths = readdirSync(join(directory, 'secrets')).map((name) => join(directory, 'secrets', name))
  const texts = paths.map((path) => readFileSync(path, 'utf8'))
  for (const path of paths) rmSync(path)
  const elsewhere = join(directory, 'elsewhere')
  writeFileSync(elsewhere, 'of somebody else')
  paths.forEach((path, i) => (i === 0 ? symlinkSync(elsewhere, path) : writeFileSync(path, 'old', { mode: 0o644 })))
  expect(await run('config export second.yaml --secrets secrets')).toMatchObject({ exitCode: 0 })
  expect(readFileSync(elsewhere, 'utf8')).toBe('of somebody else')
  expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(texts)
  for (const path of paths) expect(lstatSync(path).mode & 0o777).toBe(0o600)
})
