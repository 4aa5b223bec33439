import { isIP } from 'node:net'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress } from '../ip-address.ts'
import { examineReverseDns } from './examine-host-name.ts'
import { shown } from './examine-port-25.ts'
import { sayOf, type Finding } from './finding.ts'
import type { RemotePort, Fault, SeenSmtp, SeenTls, SeenWeb } from './outside-probe.ts'

interface OutsideServices {
  resolver: Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>
  /** What this machine calls itself. */
  ehloName: string
  /** Epoch, ms. */
  now: number
  probeSmtp(remote: RemotePort, ehloName: string): Promise<SeenSmtp | Fault>
  probeWeb(remote: RemotePort): Promise<SeenWeb | Fault>
}

/** Where a server is looked for. */
export const usualPorts = { returnPath: 25, submission: 587, submissionTls: 465, web: 443, plainWeb: 80 }
export type OutsidePorts = typeof usualPorts

const mostAddresses = 4
const warnBefore = 14 * 86_400_000

/** Examines another server as the internet sees it: its addresses, its ports, its certificates, and what it takes from strangers. */
export async function examineFromOutside(host: string, services: OutsideServices, ports: OutsidePorts = usualPorts): Promise<Finding[]> {
  const { resolver } = services
  const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
  const addresses = answers.flatMap(({ records }) => records)
  if (addresses.length === 0 && answers.some(({ status }) => status === 'servfail')) {
    return [sayOf('host_name').skipped(`${host} could not be looked up.`, 'Check the name servers of this machine, or set dns.servers.')]
  }
  const named = judgeAddresses(host, addresses)
  const looked = addresses.slice(0, mostAddresses)
  const reverse = await examineReverseDns(host, { addresses: looked.filter(isPublicAddress), areOwn: true }, resolver)
  const byAddress = await Promise.all(looked.map((address) => examinePorts({ host, address }, services, ports)))
  return [named, ...(addresses.some(isPublicAddress) ? reverse : []), ...byAddress.flat()]
}

function judgeAddresses(host: string, addresses: string[]): Finding {
  const say = sayOf('host_name')
  if (addresses.length === 0) return say.failed(`${host} has no address in the DNS.`, 'Publish an A record (and AAAA) for it.')
  const hidden = addresses.filter((address) => !isPublicAddress(address))
  if (hidden.length > 0) {
    const advice = 'Publish only addresses that the internet reaches.'
    return say.failed(`${host} has the address ${hidden.join(', ')}, which is not public: others cannot reach it.`, advice)
  }
  return say.ok(`${host} is ${addresses.join(', ')}.`)
}

async function examinePorts(at: { host: string; address: string }, services: OutsideServices, ports: OutsidePorts): Promise<Finding[]> {
  const { ehloName, now, probeSmtp, probeWeb } = services
  const remote = (port: number, isTls = false): RemotePort => ({ ...at, port, isTls })
  const [returnPath, submission, submissionTls] = [remote(ports.returnPath), remote(ports.submission), remote(ports.submissionTls, true)]
  const [web, plainWeb] = [remote(ports.web, true), remote(ports.plainWeb)]
  const [byReturnPath, bySubmission, bySubmissionTls, byWeb, byPlainWeb] = await Promise.all([
    probeSmtp(returnPath, ehloName),
    probeSmtp(submission, ehloName),
    probeSmtp(submissionTls, ehloName),
    probeWeb(web),
    probeWeb(plainWeb),
  ])
  return [
    ...judgeReturnPath(returnPath, byReturnPath),
    ...judgeSubmission(submission, bySubmission, now),
    ...judgeSubmission(submissionTls, bySubmissionTls, now),
    judgeWeb(web, byWeb, now),
    judgePlainWeb(plainWeb, byPlainWeb),
  ]
}

const placeOf = ({ host, address, port }: RemotePort): string => `Port ${port} of ${host} (${address})`
const say = sayOf('reachable')

/** A machine without IPv6 learns nothing about others'. */
const noWayThere = ({ address }: RemotePort, fault: string): boolean =>
  isIP(address) === 6 && /ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL/.test(fault)

function unreached(remote: RemotePort, fault: string, status: 'failed' | 'warning' | 'skipped', advice: string): Finding {
  if (noWayThere(remote, fault))
    return say.skipped(`${remote.address} cannot be reached: this machine has no IPv6.`, 'Test it from one that has.')
  return say[status](`${placeOf(remote)} does not answer: ${fault}.`, advice)
}

export function judgeReturnPath(remote: RemotePort, seen: SeenSmtp | Fault): Finding[] {
  if ('fault' in seen) {
    const advice =
      'Bounces and reports do not come back. Forward the port to return_path.listen and open it in the firewall. If this machine can ' +
      'reach no server at port 25 ("sterna doctor" says so), test from another.'
    return [unreached(remote, seen.fault, 'failed', advice)]
  }
  return [judgeName(remote, seen), judgeRelay(remote, seen)]
}

function judgeName(remote: RemotePort, { greeting, tls }: SeenSmtp): Finding {
  if (greeting.split(' ', 1)[0]?.toLowerCase() !== remote.host) {
    const advice = `Stop it there, or set hostname to ${remote.host}.`
    return say.warning(`${placeOf(remote)} answers as another server: "${shown(greeting)}".`, advice)
  }
  if (!tls) return say.warning(`${placeOf(remote)} offers no TLS, so bounces come back readable.`, 'Check what stands in front of it.')
  return say.ok(`${placeOf(remote)} answers with TLS.`)
}

function judgeRelay(remote: RemotePort, { isOpenRelay }: SeenSmtp): Finding {
  const relay = sayOf('open_relay')
  if (!isOpenRelay) return relay.ok(`${placeOf(remote)} takes no mail for other domains from strangers.`)
  const advice = 'Close the port at once, and find out which server answers there. Sterna relays for nobody without a key.'
  return relay.failed(`${placeOf(remote)} takes mail for any domain from strangers: spammers will use it.`, advice)
}

export function judgeSubmission(remote: RemotePort, seen: SeenSmtp | Fault, now: number): Finding[] {
  if ('fault' in seen) {
    const advice = 'Apps elsewhere cannot send over SMTP here. That is right if none does; else open the port and forward it.'
    return [unreached(remote, seen.fault, 'warning', advice)]
  }
  const open = seen.isOpenRelay ? [judgeRelay(remote, seen)] : []
  if (!seen.tls) {
    const advice = 'Check what stands in front of it: Sterna takes no key without TLS.'
    return [say.failed(`${placeOf(remote)} offers no TLS, so no app can log in.`, advice), ...open]
  }
  return [judgeTls(remote, seen.tls, { now, status: 'warning', who: 'apps that verify it refuse to send' }), ...open]
}

export function judgeWeb(remote: RemotePort, seen: SeenWeb | Fault, now: number): Finding {
  const forward = 'Open the port, and have http.tls_listen or a proxy answer there.'
  if ('fault' in seen) return unreached(remote, seen.fault, 'warning', `The API, the dashboard and links in mail need it. ${forward}`)
  if (!seen.isSterna)
    return say.warning(`${placeOf(remote)} answers, but not as Sterna (HTTP ${seen.status}).`, 'Have the proxy pass requests on.')
  if (!seen.tls) return say.failed(`${placeOf(remote)} answers without TLS.`, forward)
  return judgeTls(remote, seen.tls, { now, status: 'failed', who: 'browsers and apps refuse it' })
}

function judgeTls(
  remote: RemotePort,
  { problem, endsAt }: SeenTls,
  { now, status, who }: { now: number; status: 'failed' | 'warning'; who: string },
): Finding {
  const on = new Date(endsAt).toISOString().slice(0, 10)
  if (problem !== null) {
    return say[status](
      `The certificate at port ${remote.port} of ${remote.host} (${remote.address}) ${problem}: ${who}.`,
      `Get one for ${remote.host}.`,
    )
  }
  if (endsAt - now < warnBefore)
    return say.warning(`The certificate at port ${remote.port} of ${remote.host} expires on ${on}.`, 'Renew it.')
  return say.ok(`${placeOf(remote)} answers with a certificate that is valid until ${on}.`)
}

function judgePlainWeb(remote: RemotePort, seen: SeenWeb | Fault): Finding {
  if ('fault' in seen)
    return unreached(remote, seen.fault, 'skipped', 'Only certificates that are obtained over HTTP need it, and browsers that begin there.')
  if (seen.isSterna) {
    const advice = 'API keys can be read on the way. Let the proxy redirect to https, or close the port.'
    return say.warning(`${placeOf(remote)} answers as Sterna without TLS.`, advice)
  }
  return say.ok(`${placeOf(remote)} answers (HTTP ${seen.status}).`)
}
