//! The comments that a fixture begins with: which of them are directives, and which look like one and are none. The tests
//! of the fixtures read this file too.

/// The lines that are directives, as keys and values.
///
/// # Errors
/// A line that is a directive but for its spelling. It would be left out, and the test with it be less than it seems.
pub(crate) fn directives<'t>(text: &'t str, keys: &[&str]) -> Result<Vec<(&'t str, &'t str)>, String> {
    let comments = text.lines().take_while(|line| line.starts_with("//"));
    let comments: Vec<&str> = comments.map(|line| line.trim_start_matches('/').trim()).collect();
    if let Some(key) = comments.iter().find_map(|line| misspelt(line, keys)) {
        let known: Vec<String> = keys.iter().map(|key| format!("`{key}: `")).collect();
        return Err(format!("`{key}:` is no directive of a fixture; known: {}", known.join(", ")));
    }
    let pairs = comments.into_iter().filter_map(|line| line.split_once(": "));
    Ok(pairs.filter(|(key, _)| keys.contains(key)).collect())
}

/// What stands before the colon, if that is one or two words in small letters, or a key in another way, and no directive.
/// Sentences begin with a capital letter, or have more words.
fn misspelt<'l>(line: &'l str, keys: &[&str]) -> Option<&'l str> {
    let (key, value) = line.split_once(':')?;
    let is_key = keys.contains(&key) && value.starts_with(' ');
    let is_like_a_key = keys.contains(&key.trim().to_lowercase().as_str());
    let is_of_small_letters = key.chars().all(|letter| letter.is_ascii_lowercase() || " -_".contains(letter));
    let is_short = is_of_small_letters && key.split_whitespace().count() <= 2;
    // `space::name` is no key.
    let is_meant = !value.starts_with(':') && (is_like_a_key || is_short);
    (is_meant && !is_key).then_some(key)
}
