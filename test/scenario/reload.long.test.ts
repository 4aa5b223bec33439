import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { storeSettings } from '../support/postgres-databases.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'

const [program, ...start] = sternaCommand
const loaded = 'the configuration and the certificate were loaded again'

/** The fingerprint of the certificate at a port with TLS. */
function shownAt(port: number): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerX509Certificate()?.fingerprint256)
    socket.destroy()
  })
  socket.on('error', reject)
  return promise
}

test('SIGHUP loads what may change, says what needs a restart, and a faulty file changes nothing', async () => {
  const directory = testDirectory()
  const file = join(directory, 'sterna.yml')
  const [cert, key] = [join(directory, 'relay.crt'), join(directory, 'relay.key')]
  const write = (text: string): void => writeFileSync(file, `tls:\n  cert: ${cert}\n  key: ${key}\n${text}`)
  const install = async (): Promise<string> => {
    const made = await testCertificate(['relay.example'])
    writeFileSync(cert, made.cert)
    writeFileSync(key, made.key)
    return new X509Certificate(made.cert).fingerprint256
  }
  const before = await install()
  write('log.level: info\n')
  const port = await freePort()
  const settings = { HOSTNAME: 'relay.example', SUBMISSION_TLS_LISTEN: `127.0.0.1:${port}` }
  const server = await spawnServer(directory, settings, { options: ['--config', file] })
  await untilReady(server)
  expect(await shownAt(port)).toBe(before)

  const renewed = await install()
  write('log.level: debug\nsuppression.soft_bounces: 3\ndelivery.max_connections_per_host: 5\n')
  server.child.kill('SIGHUP')
  await expect.poll(() => server.logged(loaded)).toEqual([expect.objectContaining({ reloaded: ['suppression.soft_bounces', 'log.level'] })])
  await expect
    .poll(() => server.logged('some settings have changed that take effect after a restart'))
    .toEqual([expect.objectContaining({ level: 'warn', needRestart: ['delivery.max_connections_per_host'] })])
  expect(await shownAt(port)).toBe(renewed)

  write('log.level: loud\n')
  server.child.kill('SIGHUP')
  await expect.poll(() => server.logged('the configuration could not be loaded again; the one in use stays')).toHaveLength(1)
  expect(server.stderr()).toMatch(/log\.level: \\"loud\\" is not one of/)
  expect(server.child.exitCode).toBe(null)

  write('log.level: error\n')
  server.child.kill('SIGHUP')
  server.child.kill('SIGHUP')
  await expect.poll(() => fetch(`http://127.0.0.1:${server.httpPort}/healthz`).then(({ status }) => status)).toBe(200)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})

test('the log level of a running server changes at once, and a load of the configuration changes it only if the setting did', async () => {
  const directory = testDirectory()
  const file = join(directory, 'sterna.yml')
  const { STORE_URL } = await storeSettings(directory)
  const store = STORE_URL ? `store.url: ${STORE_URL}\n` : ''
  const write = (text: string): void => writeFileSync(file, `data_dir: ${directory}\ndns.servers: 127.0.0.1:1\n${store}${text}`)
  write('log.level: warn\n')
  const server = await spawnServer(directory, {}, { options: ['--config', file] })
  const level = async (...argv: string[]): Promise<string> => {
    const { promise, resolve: done } = Promise.withResolvers<string>()
    execFile(program, [...start, 'log', 'level', ...argv, '--config', file], { cwd: directory, env: {} }, (_, stdout, stderr) =>
      done(stdout + stderr),
    )
    return promise
  }
  // A command that finds no server takes the directory, so none may come before it serves.
  const health = `http://127.0.0.1:${server.httpPort}/healthz`
  await expect
    .poll(() =>
      fetch(health).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
  await expect.poll(() => level()).toBe('warn\n')
  expect(await level('loud')).toContain('It must be one of: debug, info, warn, error, silent.')
  expect(await level('debug')).toBe('debug\nThe setting log.level is warn; a restart goes back to it.\n')
  write('log.level: warn\nsuppression.soft_bounces: 3\n')
  server.child.kill('SIGHUP')
  await expect.poll(() => server.logged(loaded)).toMatchObject([{ reloaded: ['suppression.soft_bounces'] }])
  expect(await level()).toMatch(/^debug\n/)
  write('log.level: error\n')
  server.child.kill('SIGHUP')
  await expect.poll(() => level()).toBe('error\n')
  const lines = server.stderr()
  expect(await level('warn')).toMatch(/^warn\n/)
  expect(server.stderr()).toBe(lines)
  server.child.kill('SIGTERM')
  await server.ended
  expect(await level('debug')).toMatch(/^sterna: No server runs on /)
})
