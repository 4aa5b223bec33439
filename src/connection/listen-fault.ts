import { codeOf } from '../durable-file.ts'
import { messageOf, SternaError } from '../errors.ts'

interface HostPort {
  host: string
  port: number
}

/** Why a server cannot listen at an address of this setting, and what to do about it. */
export function listenFault(setting: string, { host, port }: HostPort, error: unknown): SternaError {
  const advice = adviceFor(codeOf(error), { host, port })
  const message = `${setting}: cannot listen on ${host} port ${port}: ${messageOf(error)}${advice}`
  return new SternaError('configuration', message, { cause: error })
}

function adviceFor(code: string, { host, port }: HostPort): string {
  if (code === 'EACCES' && port < 1024) return `.\n${howToGetPort(port)}`
  if (code === 'EADDRINUSE')
    return `.\n  Another program has this port; "ss -ltnp sport = :${port}" shows which one. Stop it, or set another port.`
  if (code === 'EADDRNOTAVAIL') return `.\n  This computer has no address ${host}. Write [::] for all of its addresses.`
  if (code === 'EAFNOSUPPORT') return `.\n  This computer has no IPv6. Write 0.0.0.0 for all of its IPv4 addresses.`
  return ''
}

/** Only the superuser may listen below port 1024, and Sterna should not run as one. */
const howToGetPort = (port: number): string =>
  `  Ports below 1024 need a right that this user does not have. One of these gives it:
  - systemd: add AmbientCapabilities=CAP_NET_BIND_SERVICE to [Service] in the unit
  - without systemd: sudo setcap cap_net_bind_service=+ep ${process.execPath}
    (gives it to every program that this Node runs; repeat it after each update of Node)
  - a container: listen on another port, such as ${port + 2500}, and publish it with -p ${port}:${port + 2500}
  - otherwise: listen on another port, such as ${port + 2500}, and have the firewall redirect port ${port} to it`
