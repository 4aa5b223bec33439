import { examination } from '../doctor/examination.ts'
import { worstOf, type Finding } from '../doctor/finding.ts'
import { flagOption, type Command } from './command.ts'

export const doctorCommands: Command[] = [
  {
    name: 'doctor',
    reads: true,
    args: [],
    options: { json: { type: 'boolean', doc: 'Prints JSON, like the API.' } },
    doc:
      'Checks what a mail server needs: port 25, names, DNS records, certificate, clock, disk, blocklists. Exits with an error if a ' +
      'check fails.',
    async run(input, services) {
      const findings = await examination(services)
      const isFailed = worstOf(findings) === 'failed'
      const stdout = flagOption(input, 'json') ? `${JSON.stringify(findings, null, 2)}\n` : findings.map(linesOf).join('')
      return { stdout, exitCode: isFailed ? 1 : 0 }
    },
  },
]

const linesOf = ({ check, status, what, advice }: Finding): string =>
  `${status.padEnd(8)} ${check}: ${what}\n${advice === null ? '' : `${' '.repeat(9)}-> ${advice}\n`}`
