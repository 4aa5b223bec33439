import { randomBytes } from 'node:crypto'
import { newId } from '../../platform/id.ts'
import { networkRule } from '../../platform/ip-address.ts'
import { judgeHits } from '../../readers/tracking/judge-hits.ts'
import { messageLinks } from '../../readers/tracking/message-links.ts'
import { rewriteLinks, trackableLinks } from '../../readers/tracking/rewrite-links.ts'
import { markOf, trackingKeys } from '../../readers/tracking/tracking-token.ts'
import { argument, flagOption, listObject, textOption, type CommandInput, type CommandOutput } from './command.ts'
import { readHitLine } from './hit-line.ts'
import { contentOf, outputOfFiles } from './named-files.ts'

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
