import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

/** Where `.ci/run` unpacks it: installed, it would start as a service. */
const root = '/var/cache/sterna-peers/dovecot-core/usr'

/**
 * Debian's Dovecot, which only checks logins by OAuth 2, until the end of the test.
 * @param introspection where it asks, with a token, whose that is
 * @returns the socket for Postfix (`smtpd_sasl_path`)
 */
export async function startDovecotSasl(mechanism: 'xoauth2' | 'oauthbearer', introspection: string): Promise<string> {
  const doveconf = join(root, 'bin/doveconf')
  if (!existsSync(doveconf)) throw new Error(`${doveconf} is missing: .ci/run unpacks it there`)
  const directory = mkdtempSync(join(tmpdir(), 'sterna-dovecot-'))
  chmodSync(directory, 0o755)
  mkdirSync(join(directory, 'run'))
  const file = (name: string, lines: string[]): string => {
    writeFileSync(join(directory, name), `${lines.join('\n')}\n`)
    return join(directory, name)
  }
  const passdb = file('oauth2.conf', [
    'introspection_mode = auth',
    `introspection_url = ${introspection}`,
    'username_attribute = username',
    'active_attribute = active',
    'active_value = true',
  ])
  const socket = join(directory, 'auth')
  const log = join(directory, 'log')
  const config = file('dovecot.conf', [
    `base_dir = ${directory}/run`,
    `state_dir = ${directory}/run`,
    `log_path = ${log}`,
    'ssl = no',
    'protocols =',
    'auth_failure_delay = 0',
    'default_internal_user = nobody',
    'default_internal_group = nogroup',
    'default_login_user = postfix',
    `libexec_dir = ${root}/lib/dovecot`,
    'import_environment = LD_LIBRARY_PATH',
    `auth_mechanisms = ${mechanism}`,
    `passdb {\n driver = oauth2\n mechanisms = ${mechanism}\n args = ${passdb}\n}`,
    'userdb {\n driver = static\n args = uid=nobody gid=nogroup home=/tmp\n}',
    `service auth {\n unix_listener ${socket} {\n mode = 0666\n }\n}`,
  ])
  // As `dovecot` starts itself, which would look for doveconf where it is installed.
  const args = ['-f', 'service=master', '-c', config, '-m', 'master', '-p', '-e', join(root, 'sbin/dovecot'), '-F', '-c', config]
  const libraries = ['lib/dovecot', 'lib/dovecot/modules/old-stats'].map((each) => join(root, each)).join(':')
  const dovecot = spawn(doveconf, args, { stdio: 'ignore', env: { ...process.env, LD_LIBRARY_PATH: libraries } })
  const ended = new Promise<void>((resolve) => dovecot.once('close', () => resolve()))
  onTestFinished(async () => {
    dovecot.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true, force: true })
  })
  const logged = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '')
  await expect.poll(() => existsSync(socket) || dovecot.exitCode !== null, { timeout: 90_000 }).toBe(true)
  if (dovecot.exitCode !== null) throw new Error(`dovecot ended: ${logged()}`)
  return socket
}
