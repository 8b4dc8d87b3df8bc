export const SUBJECT_CHARACTERS_MAX = 72;

/** Words that no imperative begins with. */
const NO_VERB =
  /^(?:A|An|The|This|That|These|It|Its|No|Not|Now|Also|All|Each|Some|More|What|Who|Whose|Where|When|Why|How|If|In|On|Of|For|With)$/;
/** Verbs that look like another form of one. */
const VERBS = /^(?:Embed|Exceed|Feed|Need|Proceed|Seed|Shed|Speed|Bring|Ring|String|Swing|Bias|Focus|Alias)$/;

/** Faults of a commit's subject: an imperative ("Keep a lease that is held") of at most 72 characters, without a full stop. */
export function faultsOfSubject(subject: string): string[] {
  if (/^(?:Merge|Revert) /.test(subject)) return [];
  const [verb = ''] = subject.split(' ');
  const faults: string[] = [];
  if ([...subject].length > SUBJECT_CHARACTERS_MAX)
    faults.push(`has ${[...subject].length} characters, more than ${SUBJECT_CHARACTERS_MAX}`);
  if (subject.endsWith('.')) faults.push('ends with a full stop');
  if (!/^[A-Z][a-z]+(?:-[a-z]+)*$/.test(verb))
    faults.push(`begins with "${verb}": begin with a verb and a capital letter`);
  else if (NO_VERB.test(verb) || (!VERBS.test(verb) && /(?:ed|ing|[^s]s)$/.test(verb)))
    faults.push(`begins with "${verb}": write the imperative, such as "Keep" or "Add"`);
  return faults;
}
