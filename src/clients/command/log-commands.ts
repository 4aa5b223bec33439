import { logLevels } from '../../platform/log-level.ts'
import { requireServing } from './command-services.ts'
import type { Command } from './command.ts'

export const logCommands: Command[] = [
  {
    name: 'log level',
    args: ['[LEVEL]'],
    choices: { '[LEVEL]': logLevels },
    options: {},
    doc:
      'Shows the log level of the running server, or changes it at once, for example to debug. The change lasts until the server restarts ' +
      'or the setting log.level is loaded with another value.',
    async run(input, services) {
      const { log, config } = services
      requireServing(services)
      const wanted = logLevels.find((level) => level === input.args[0])
      if (wanted !== undefined) {
        log.info({ from: log.level, to: wanted }, 'the log level is changed')
        log.level = wanted
      }
      const level = log.level ?? config.log.level
      const json = { object: 'log_level', level, setting: config.log.level }
      const remark = level === config.log.level ? '' : `The setting log.level is ${config.log.level}; a restart goes back to it.\n`
      return { stdout: `${level}\n`, json, stderr: remark, changed: wanted !== undefined }
    },
  },
]
