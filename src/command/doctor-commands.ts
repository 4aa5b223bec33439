import { examination } from '../doctor/examination.ts'
import { worstOf, type Finding } from '../doctor/finding.ts'
import { doctorObject } from '../http/api/doctor-operations.ts'
import type { Command } from './command.ts'

export const doctorCommands: Command[] = [
  {
    name: 'doctor',
    reads: true,
    args: [],
    options: {},
    doc:
      'Checks what a mail server needs: port 25, names, DNS records, certificate, clock, disk, blocklists. Exits with an error if a ' +
      'check fails.',
    async run(_input, services) {
      const findings = await examination(services)
      const isFailed = worstOf(findings) === 'failed'
      const json = doctorObject(findings, services.clock.now())
      return { stdout: findings.map(linesOf).join(''), json, exitCode: isFailed ? 1 : 0 }
    },
  },
]

const linesOf = ({ check, status, what, advice }: Finding): string =>
  `${status.padEnd(8)} ${check}: ${what}\n${advice === null ? '' : `${' '.repeat(9)}-> ${advice}\n`}`
