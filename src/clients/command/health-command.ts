import type { Config } from '../../platform/config/settings.ts'
import { SternaError } from '../../platform/errors.ts'
import { askServer, controlSocketPath, type CommandRequest, type CommandResult } from './control-socket.ts'
import type { Command } from './command.ts'

/** ms; a server whose main thread has stalled takes connections, but does not answer */
const answerWithinMs = 4_000

export const healthCommands: Command[] = [
  {
    name: 'health',
    advises: true,
    reads: true,
    args: [],
    options: {},
    doc:
      'Asks the running server whether it accepts and delivers mail, as GET /healthz does, wherever it listens, and prints what else is ' +
      'wrong. Exits with 1 if it does not, if no server runs, or if it does not answer within 4 seconds.',
    async run(_input, { health: { faults, isServing } }) {
      const stdout = faults.map(({ name, since, message }) => `${name} since ${since}: ${message}\n`).join('')
      const status = isServing ? 'ok' : 'unavailable'
      return { stdout: stdout || 'ok\n', json: { object: 'health', status, faults }, exitCode: isServing ? 0 : 1 }
    },
  },
]

/**
 * Runs `sterna health` in the serving process only: opening the data directory, as other commands do, would hold it while a server starts.
 * @throws SternaError `service_unavailable` if no server runs or it does not answer in time
 */
export async function askHealth({ dataDir }: Config, request: CommandRequest, withinMs = answerWithinMs): Promise<CommandResult> {
  const timeUp = AbortSignal.timeout(withinMs)
  const fault = (what: string): SternaError => new SternaError('service_unavailable', what)
  try {
    const result = await askServer(controlSocketPath(dataDir), request, { signal: timeUp })
    if (result) return result
  } catch (error) {
    if (timeUp.aborted) throw fault(`The server on ${dataDir} has not answered for ${withinMs / 1000} seconds.`)
    throw error
  }
  throw fault(`No server runs on ${dataDir}, or it is still starting.`)
}
