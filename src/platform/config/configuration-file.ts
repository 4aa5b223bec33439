import { readFileSync } from 'node:fs'
import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from 'yaml'
import { nearestName } from './nearest-name.ts'
import { secretFileName, secretSettings, settingNames } from './settings.ts'
import { reasonOf } from '../plain-reason.ts'

/** The raw value that a source gives for a setting. */
export interface Given {
  value: unknown
  /** `sterna.yml:12` or `STERNA_DATA_DIR` */
  place: string
}

/**
 * Reads the settings from a YAML file: `delivery: {port: 25}` and `delivery.port: 25` mean the same. Adds one line per fault to `faults`.
 * The result is by name; the name of a secret with `_file` is a name too.
 */
export function readConfigurationFile(file: string, faults: string[]): Map<string, Given> {
  const given = new Map<string, Given>()
  let source
  try {
    source = readFileSync(file, 'utf8')
  } catch (error) {
    faults.push(`${file}: cannot be read (${reasonOf(error)}).`)
    return given
  }
  const lineCounter = new LineCounter()
  const document = parseDocument(source, { lineCounter, prettyErrors: false })
  const placeOf = (offset: number | undefined): string => (offset === undefined ? file : `${file}:${lineCounter.linePos(offset).line}`)
  const lines = source.split('\n')
  for (const error of document.errors) {
    const line = lines[lineCounter.linePos(error.pos[0]).line - 1] ?? ''
    faults.push(`${placeOf(error.pos[0])}: ${error.message}.${adviceFor(line)}`)
  }
  if (faults.length > 0 || document.contents === null) return given
  if (!isMap(document.contents)) {
    faults.push(`${file}: this is not a map of settings. Write lines such as "hostname: mail.example.com".`)
    return given
  }

  const readMap = (map: YAMLMap, prefix: string): void => {
    for (const { key, value } of map.items) {
      const name = prefix + (isScalar(key) ? String(key.value) : String(key))
      const place = placeOf(isScalar(key) ? key.range?.[0] : undefined)
      if (givenNames.has(name)) {
        if (given.has(name)) faults.push(`${place}: ${name} is already set above. Remove one of the two.`)
        else given.set(name, { value: document.createNode(value).toJS(document), place })
      } else if (isMap(value) && settingNames.some((known) => known.startsWith(`${name}.`))) {
        readMap(value, `${name}.`)
      } else {
        faults.push(`${place}: ${unknownSetting(name)}`)
      }
    }
  }
  readMap(document.contents, '')
  return given
}

/** YAML reads `[::]:80` as a list with something after it. */
function adviceFor(line: string): string {
  const bracketed = /\s(\[[\da-f:.]*:[\da-f:.]*\]:\d+)/i.exec(line)?.[1]
  return bracketed === undefined ? '' : ` Put quotes around the address: '${bracketed}'.`
}

/** What may be given: the settings, and the files of secrets. */
export const givenNames: ReadonlySet<string> = new Set([...settingNames, ...[...secretSettings].map(secretFileName)])

function unknownSetting(name: string): string {
  const section = settingNames.filter((known) => known.startsWith(`${name}.`))
  if (section.length > 0) return `${name} is a section. Put its settings below it, such as ${section[0]}.`
  const sections = new Set(settingNames.flatMap((known) => known.split('.').slice(0, -1)))
  const near = nearestName(name, [...givenNames, ...sections])
  return `there is no setting ${name}${near ? `; did you mean ${near}?` : '. docs/settings.md lists them all.'}`
}
