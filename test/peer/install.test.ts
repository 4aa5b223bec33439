import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'

/** The files to install with, as the programs read them that they are for. */
const root = resolve(import.meta.dirname, '../..')
const directory = mkdtempSync(join(tmpdir(), 'sterna-install-'))
afterAll(() => rmSync(directory, { recursive: true }))

const run = (program: string, words: string[], env: Record<string, string> = {}): string =>
  execFileSync(program, words, { cwd: directory, encoding: 'utf8', env: { PATH: process.env['PATH'], ...env }, stdio: 'pipe' })

test.each(['compose.yaml', 'compose.caddy.yaml', 'compose.scaled.yaml'])('Compose takes %s, and asks for the name of the host', (file) => {
  const words = ['--file', join(root, file), 'config']
  expect(run('docker-compose', words, { STERNA_HOSTNAME: 'mail.example.com', DATABASE_PASSWORD: 'secret' })).toContain(
    'STERNA_HOSTNAME: mail.example.com\n',
  )
  expect(() => run('docker-compose', words)).toThrow('Put STERNA_HOSTNAME=mail.example.com into the file .env')
})

test('HAProxy takes the configuration of compose.scaled.yaml', () => {
  expect(run('/var/cache/sterna-peers/haproxy/usr/sbin/haproxy', ['-c', '-f', join(root, 'deploy/haproxy.cfg')])).toContain('valid')
})

test('systemd takes the unit, and rates it well', () => {
  const unit = join(directory, 'sterna.service')
  // The program that it starts is not installed here.
  writeFileSync(unit, readFileSync(join(root, 'deploy/sterna.service'), 'utf8').replace('/usr/local/bin/sterna', process.execPath))
  expect(run('systemd-analyze', ['verify', unit])).toBe('')
  expect(run('systemd-analyze', ['security', '--offline=yes', '--threshold=19', unit])).toContain('Overall exposure level')
})
