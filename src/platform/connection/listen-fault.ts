import { codeOf } from '../durable-file.ts'
import { SternaError } from '../errors.ts'
import { reasonOf } from '../plain-reason.ts'

interface HostPort {
  host: string
  port: number
}

/** Why a server cannot listen at an address of this setting, and what to do about it. */
export function listenFault(setting: string, { host, port }: HostPort, error: unknown): SternaError {
  const advice = adviceFor(codeOf(error), port)
  const message = `${setting}: cannot listen on ${host} port ${port}: ${reasonOf(error)}${advice}`
  return new SternaError('configuration', message, { cause: error })
}

function adviceFor(code: string, port: number): string {
  if (code === 'EACCES' && port < 1024) return `.\n${howToGetPort(port)}`
  if (code === 'EADDRINUSE') return `.\n  "ss -ltnp sport = :${port}" shows the program. Stop it, or set another port.`
  if (code === 'EADDRNOTAVAIL') return `.\n  Write [::] for all addresses of this machine.`
  if (code === 'EAFNOSUPPORT') return `.\n  Write 0.0.0.0 for all its IPv4 addresses.`
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
