import { execFileSync, spawn } from 'node:child_process'
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { freePort } from '../../bench/free-port.ts'
import { temporaryDirectory, testDirectory } from '../support/temporary-directory.ts'

test('what the log of the first start holds lets nobody in once there is a key for real mail', async () => {
  const directory = temporaryDirectory()
  onTestFinished(directory.remove)
  const [program, ...words] = sternaCommand
  const sterna = (...argv: string[]): string =>
    execFileSync(program, [...words, ...argv], { cwd: directory.path, env: { STERNA_DATA_DIR: directory.path } }).toString()
  const start = async () => {
    const server = await spawnServer(directory.path)
    await untilReady(server)
    const link = /http\S+\/setup\/([\w-]+)/.exec(server.stdout())?.[1]
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { headers })).status
    const stop = async (): Promise<void> => {
      server.child.kill()
      await server.ended
    }
    return { ...server, link, status, stop }
  }

  const first = await start()
  const authorization = `Bearer ${/sterna_test_\w{49}/.exec(first.stdout())?.[0]}`
  expect(await first.status('/api/emails', { authorization })).toBe(200)
  // Other sandbox keys change nothing about it.
  sterna('key', 'create', '--account', 'default', '--sandbox')
  expect(await first.status('/api/emails', { authorization })).toBe(200)
  await first.stop()

  const second = await start()
  expect(second.stdout()).not.toMatch(/sterna_(?:test|live)_/)
  expect([second.link === first.link, await second.status(`/setup/${first.link}`), await second.status(`/setup/${second.link}`)]).toEqual([
    false,
    404,
    200,
  ])
  const live = sterna('key', 'create', '--account', 'default').trim()
  expect(await second.status('/api/emails', { authorization })).toBe(401)
  expect(await second.status('/api/emails', { authorization: `Bearer ${live}` })).toBe(200)
  await second.stop()

  const third = await start()
  expect(third.link).toBeUndefined()
  expect(await third.status(`/setup/${second.link}`)).toBe(404)
  expect(third.stdout()).toContain('user invite YOUR-ADDRESS --account default --role owner --operator')
  expect(await third.status('/api/emails', { authorization })).toBe(401)
})

/** Starts a server as systemd does, with its standard error going to what counts as the journal. Returns what it prints. */
async function startService(directory: string, settings: Record<string, string>): Promise<{ stdout(): string; journal(): string }> {
  const [config, journal] = [join(directory, 'sterna.yml'), join(directory, 'journal')]
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name}: '${value}'\n`)
      .join(''),
  )
  const stream = openSync(journal, 'w')
  const { dev, ino } = fstatSync(stream)
  const [program, ...words] = sternaCommand
  const env = { PATH: process.env['PATH'], STERNA_CONFIG: config, JOURNAL_STREAM: `${dev}:${ino}` }
  const child = spawn(program, [...words, 'serve'], { cwd: directory, env, stdio: ['ignore', 'pipe', stream] })
  closeSync(stream)
  let stdout = ''
  child.stdout?.on('data', (part: Buffer) => (stdout += part.toString()))
  const ended = new Promise((end) => child.once('close', end))
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  await expect.poll(() => readFileSync(journal, 'utf8')).toContain('Sterna is ready')
  return { stdout: () => stdout, journal: () => readFileSync(journal, 'utf8') }
}

test('each start says where the server is, and what it prints in a journal works in any directory', async () => {
  const directory = testDirectory()
  const [home, elsewhere] = [join(directory, 'home'), join(directory, 'elsewhere')]
  for (const each of [home, elsewhere]) mkdirSync(each)
  const httpPort = await freePort()
  const settings = {
    'http.listen': `127.0.0.1:${httpPort}`,
    'submission.listen': '127.0.0.1:0',
    'submission.tls_listen': '127.0.0.1:0',
    'return_path.listen': '127.0.0.1:0',
    'dns.servers': '127.0.0.1:1',
    base_url: 'https://mail.example.net',
    hostname: 'mail.example.net',
  }
  // Its configuration does not say where its data is.
  const server = await startService(home, settings)
  const addresses = {
    baseUrl: 'https://mail.example.net',
    http: [`127.0.0.1:${httpPort}`],
    submission: [expect.any(String), expect.any(String)],
  }
  const ready = server
    .journal()
    .split('\n')
    .find((line) => line.includes('Sterna is ready'))
  expect(JSON.parse(ready ?? '')).toMatchObject(addresses)
  expect(server.stdout()).toMatch(/^Sterna \S+ is running as mail\.example\.net\.\n\n {2}Dashboard +https:\/\/mail\.example\.net\n/)
  expect(server.stdout()).toMatch(new RegExp(`^ {2}HTTP +127\\.0\\.0\\.1:${httpPort}$`, 'm'))
  expect(server.stdout()).toMatch(/^ {2}Submission \(SMTP\) +127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+$/m)

  const printed = /^ {2}(sudo .* domain add YOUR-DOMAIN --account default)$/m.exec(server.stdout())?.[1] ?? ''
  const sudo = `sudo -u ${userInfo().username} `
  expect(printed.slice(0, sudo.length)).toBe(sudo)
  const line = `env ${printed.slice(sudo.length).replace('YOUR-DOMAIN', 'shop.example')}`
  const run = (words: string) => execFileSync('sh', ['-c', words], { cwd: elsewhere, env: { PATH: process.env['PATH'] }, encoding: 'utf8' })
  expect(run(line)).toContain('_domainkey.shop.example')
  expect(run(line.replace('domain add', 'domain show'))).toContain('_domainkey.shop.example')
  expect(readdirSync(elsewhere)).toEqual([])
})
