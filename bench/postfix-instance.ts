import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { waitForPort } from './wait-for-port.ts'

/** True where Debian's Postfix is installed and may be started (it wants to be root). */
export const hasPostfix = (): boolean => process.getuid?.() === 0 && existsSync('/usr/sbin/postfix')

export interface PostfixInstance {
  /** Its configuration, queue and what else a caller puts there. */
  directory: string
  masterPid: number
  stop(): void
}

/** A directory that Postfix's own users can get into. */
export function postfixDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sterna-postfix-'))
  chmodSync(directory, 0o755)
  return directory
}

/** Postfix's own list of services, listening here. */
export const postfixServices = (listen: { host: string; port: number }): string =>
  readFileSync('/usr/share/postfix/master.cf.dist', 'utf8')
    .replace(/^smtp +inet.*$/m, `${listen.host}:${listen.port} inet n - n - - smtpd`)
    // Without chroot jails, which would need files copied into the queue directory.
    .replace(/^(\w\S*\s+(?:unix|fifo|pass)\s+\S+\s+\S+\s+)\S+/gm, '$1n')

/**
 * Debian's Postfix on loopback, in a directory of its own and apart from any other on this machine.
 * @param services lines of master.cf for services of its own
 */
export async function startPostfixInstance(
  directory: string,
  listen: { host: string; port: number },
  settings: Record<string, string>,
  services = '',
): Promise<PostfixInstance> {
  for (const name of ['etc', 'queue', 'data']) mkdirSync(join(directory, name), { recursive: true })
  const etc = join(directory, 'etc')
  writeFileSync(join(etc, 'master.cf'), postfixServices(listen) + services)
  const all = {
    compatibility_level: '3.6',
    queue_directory: join(directory, 'queue'),
    data_directory: join(directory, 'data'),
    command_directory: '/usr/sbin',
    daemon_directory: '/usr/lib/postfix/sbin',
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    maillog_file: '/var/log/sterna-test-postfix.log',
    inet_protocols: 'ipv4',
    inet_interfaces: 'loopback-only',
    mynetworks: '127.0.0.0/8',
    mydestination: '',
    alias_maps: '',
    ...settings,
  }
  writeFileSync(
    join(etc, 'main.cf'),
    Object.entries(all)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(''),
  )
  execFileSync('chown', ['postfix', join(directory, 'data')])
  const postfix = (command: string) => execFileSync('/usr/sbin/postfix', ['-c', etc, command], { stdio: 'ignore' })
  const stop = (): void => {
    if (!existsSync(directory)) return
    postfix('stop')
    rmSync(directory, { recursive: true, force: true })
  }
  endWithProcess(stop)
  postfix('start')
  await waitForPort(listen.host, listen.port)
  return { directory, masterPid: Number(readFileSync(join(directory, 'queue/pid/master.pid'), 'utf8')), stop }
}
