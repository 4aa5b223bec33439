import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import { dnsResolver } from '../../platform/dns/dns-resolver.ts'
import { examineFromOutside, type OutsidePorts } from '../../upkeep/doctor/examine-from-outside.ts'
import { examination, examineNodes } from '../../upkeep/doctor/run-doctor.ts'
import { worstOf, type Finding } from '../../upkeep/doctor/finding.ts'
import { probeSmtp, probeWeb } from '../../upkeep/doctor/outside-probe.ts'
import { doctorResource } from '../../api/resource/doctor-operations.ts'
import { parseDomain } from '../../platform/smtp/domain-name.ts'
import type { CommandServices } from './command-services.ts'
import { usageFault, type CommandOutput } from './command.ts'

/** Examines the server whose services these are. */
export async function examineThis(services: CommandServices): Promise<CommandOutput> {
  return outputOf([...(await examineNodes(services)), ...(await examination(services))], services.clock.now())
}

/**
 * Examines another server; needs none here.
 * @param host its name, as in its setting `hostname`
 * @throws UsageError if it is not a name
 */
export async function examineOther(host: string, { config, clock, ports }: { config: Config; clock: Clock; ports?: OutsidePorts }) {
  const parsed = parseDomain(host)
  if (!parsed.ok) throw usageFault(`--of: ${parsed.fault}`)
  const resolver = dnsResolver(config.dns)
  // The resolver does not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  try {
    const services = { resolver, ehloName: config.hostname, now: clock.now(), probeSmtp, probeWeb }
    return outputOf(await examineFromOutside(parsed.domain, services, ports), clock.now())
  } finally {
    clearInterval(alive)
    resolver.close()
  }
}

function outputOf(findings: Finding[], now: number): CommandOutput {
  const isFailed = worstOf(findings) === 'failed'
  return { stdout: findings.map(linesOf).join(''), json: doctorResource.answer({ findings, at: now }), exitCode: isFailed ? 1 : 0 }
}

const linesOf = ({ check, status, what, advice }: Finding): string =>
  `${status.padEnd(8)} ${check}: ${what}\n${advice === null ? '' : `${' '.repeat(9)}-> ${advice}\n`}`
