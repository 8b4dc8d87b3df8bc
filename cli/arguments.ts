import { InvalidArgumentError, Option } from 'commander';
import { type PolicyPreset, PRESET_NAMES } from '../contract/policy/presets.ts';
import type { Tags } from '../contract/session.ts';

// Parsers of option values: commander turns what they throw into a usage error, before anything is called.

export function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function parseSeconds(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}

/** `1280x720`. */
export function parseViewport(text: string): { width: number; height: number } {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  if (width === undefined) throw new InvalidArgumentError('It must be WIDTHxHEIGHT, e.g. 1280x720.');
  return { width: Number(width), height: Number(height) };
}

/** `47.37,8.54`, or with metres of accuracy `47.37,8.54,20`. */
export function parsePosition(text: string): { latitude: number; longitude: number; accuracy?: number } {
  if (!/^-?\d+(\.\d+)?,-?\d+(\.\d+)?(,\d+(\.\d+)?)?$/.test(text))
    throw new InvalidArgumentError('It must be LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,METRES.');
  const [latitude = 0, longitude = 0, accuracy] = text.split(',').map(Number);
  return { latitude, longitude, ...(accuracy !== undefined && { accuracy }) };
}

/** `ssrf,https-only`. */
export function parsePresets(given: string): PolicyPreset[] {
  return given.split(',').map(name => {
    const known = PRESET_NAMES.find(preset => preset === name.trim());
    if (known === undefined)
      throw new InvalidArgumentError(`"${name}" is no preset; there are ${PRESET_NAMES.join(', ')}.`);
    return known;
  });
}

export const presetsOption = (description: string) =>
  new Option('--policy-presets <names>', `${description}, joined by commas: ${PRESET_NAMES.join(', ')}`).argParser(
    parsePresets,
  );

/** An option that may be repeated. */
export const collectOption = (text: string, before: string[] = []): string[] => [...before, text];

function parseTag(text: string, before: Tags = {}): Tags {
  const [, key, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError('It must be KEY=VALUE.');
  return { ...before, [key]: value };
}

/** `--tag team=search --tag env=test`. */
export const tagOption = (description: string) =>
  new Option('--tag <key=value>', `${description}; may be repeated`).argParser(parseTag);
