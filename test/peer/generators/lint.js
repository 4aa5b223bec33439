// Prints what the ruleset `oas` of Spectral has to say of a document, one line each.
import { readFileSync } from 'node:fs'
import core from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'

const spectral = new core.Spectral()
spectral.setRuleset({ extends: [[rulesets.oas, 'recommended']] })
for (const { code, path, message } of await spectral.run(JSON.parse(readFileSync(process.argv[2], 'utf8')))) {
  console.log(`${code} ${path.join('/')}: ${message}`)
}
