import { randomBytes } from 'node:crypto'
import { newId } from '../../platform/id.ts'
import { networkRule } from '../../platform/ip-address.ts'
import { judgeHits } from '../../readers/tracking/judge-hits.ts'
import { messageLinks } from '../../readers/tracking/message-links.ts'
import { rewriteLinks, trackableLinks } from '../../readers/tracking/rewrite-links.ts'
import { markOf, trackingKeys } from '../../readers/tracking/tracking-token.ts'
import { argument, flagOption, listObject, textOption, type Command, type CommandInput, type CommandOutput } from './command.ts'
import { readHitLine } from './hit-line.ts'
import { contentOf, outputOfFiles } from './named-files.ts'

/** These have no `run`: they need neither a server nor its data, so main.ts runs them. */
export const trackingCommands: Command[] = [
  {
    name: 'tracking rewrite',
    needs: 'nothing',
    args: ['FILE'],
    options: {
      charset: { type: 'string', value: 'NAME', doc: 'The charset of the file; default: utf-8.' },
      links: { type: 'boolean', doc: 'Prints the links that would be rewritten instead, one line of JSON each.' },
    },
    doc:
      'Prints an HTML file with its links rewritten as in mail with click tracking, without the pixel. With --links: where each ' +
      "attribute's value is in the file (in bytes, end excluded), and where the link leads.",
  },
  {
    name: 'tracking judge',
    needs: 'settings',
    args: ['FILE…'],
    options: {},
    doc:
      'Judges which opens and clicks come from machines, with the verdicts as they are once everything has settled. Each input line ' +
      'is JSON that lists the hits on one recipient\'s message; each output line is `{"id", "hits": [{"bot", "reason", ' +
      '"confidence"}]}`. docs/tracking.md describes the input. Uses the setting tracking.scanner_networks.',
  },
]

/** Where links lead that are only for display. */
const shownBase = 'https://track.example/t'

/** @throws SternaError `not_found`; `invalid_parameter` if the file cannot be read or the charset is unknown */
export async function rewriteFile(input: CommandInput, now: number): Promise<CommandOutput<string | Buffer>> {
  const html = await contentOf(argument(input, 0), input.cwd)
  const charset = textOption(input, 'charset') ?? 'utf-8'
  if (flagOption(input, 'links')) {
    const links = trackableLinks(html, charset)
    return { stdout: links.map((link) => `${JSON.stringify(link)}\n`).join(''), json: listObject(links) }
  }
  const keys = trackingKeys(() => randomBytes(32))
  const { clickUrl } = messageLinks({ mark: markOf(newId('em', now), keys), base: shownBase, trackingHost: '', keys })
  const rewritten = Buffer.from(rewriteLinks(html, charset, clickUrl))
  return { stdout: rewritten, json: { object: 'rewritten_html', html: new TextDecoder(charset).decode(rewritten) } }
}

/**
 * Judges with the same code as the server. Reports files and lines that cannot be read on standard error, and still judges the others.
 * @param scannerNetworks the operator's, in CIDR notation
 */
export function judgeFiles(input: CommandInput, scannerNetworks: readonly string[]): Promise<CommandOutput> {
  const isOperatorsScanner = networkRule(scannerNetworks)
  return outputOfFiles(input, function* (file, content) {
    for (const [place, line] of content.toString().split('\n').entries()) {
      if (line.trim() === '') continue
      yield () => {
        const { id, message } = readHitLine(line.trim(), `${file}:${place + 1}`)
        return JSON.stringify({ id, hits: judgeHits(message, isOperatorsScanner) })
      }
    }
  })
}
